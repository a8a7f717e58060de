import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Reviews over a database and an index of their own: an app in two versions, a book, and a book that only the United
/// States have.
struct TestReviews {
    static let app: Int64 = 1_000
    static let book: Int64 = 2_000
    static let american: Int64 = 3_000

    let reviews: Reviews
    let items: CurrentItemIndex
    let clock: TestClock
    let databases: StoreDatabases
    let folder: URL

    static func with(_ backend: Backend, _ body: @Sendable (TestReviews) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await backend.withTestDatabases { database, apps async throws in
                let databases = StoreDatabases(apps: apps, sandbox: database, production: database)
                let items = CurrentItemIndex(try index(["2.0", "1.0"], directory.url))
                try await body(try await open(databases, items, TestClock(), directory.url))
            }
        }
    }

    private static func index(_ versions: [String], _ folder: URL) throws -> ItemIndex {
        var app = ItemSamples.item(app, .app, "Monkeys")
        app.bundleID = "com.example.monkeys"
        app.platforms = [.iPhone]
        app.versions = versions.map { ItemVersion(version: $0, releaseDate: 1_600_000_000_000) }
        var american = ItemSamples.item(american, .book, "Only Here")
        american.availability = .only(["USA"])
        let file = folder.appendingPathComponent(UUID().uuidString)
        try ItemIndex.build([app, ItemSamples.item(book, .book, "The Example"), american], at: file)
        return try ItemIndex.open(at: file)
    }

    private static func open(
        _ databases: StoreDatabases, _ items: CurrentItemIndex, _ clock: TestClock, _ folder: URL
    ) async throws -> TestReviews {
        TestReviews(
            reviews: try await Reviews.open(databases, items: items) { _ in clock.milliseconds }, items: items,
            clock: clock, databases: databases, folder: folder)
    }

    func restarted() async throws -> TestReviews { try await Self.open(databases, items, clock, folder) }

    func release(_ versions: [String]) throws { items.replace(with: try Self.index(versions, folder)) }

    func reviewer(
        _ number: Int = 1, _ environment: StoreEnvironment = .sandbox, in storefront: String = "USA"
    ) -> Reviewer {
        Reviewer(
            Account(
                accountID: AccountID("account-\(number)"), email: "a@example.com", storefront: storefront,
                paymentsAllowed: true, asksToBuy: false, isLocked: false, createdAt: 0), in: environment)
    }

    func rating(_ item: Int64 = app, in storefront: String = "USA") throws -> ItemRating {
        let item = try #require(try items.value.item(item))
        return reviews.ratings.rating(of: item, in: try #require(Storefront.named(storefront)))
    }

    static func words() throws -> ReviewWords? { try ReviewWords(title: "Good", text: "It works.") }
}

@Suite(.timeLimit(.minutes(1))) struct ReviewsTests {
    private static let app = TestReviews.app

    @Test(arguments: Backend.available) func aCustomerRatesWritesEditsAndRemoves(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let (reviews, anna) = (test.reviews, test.reviewer())
            #expect(try await reviews.review(of: Self.app, by: anna) == nil)
            let first = try await reviews.rate(Self.app, stars: 2, by: anna, owns: true)
            #expect(first.stars == 2 && first.words == nil && first.version == "2.0" && first.storefront == "USA")
            #expect(first.createdAt == TestClock.start && first.editedAt == TestClock.start)
            test.clock.milliseconds += 1_000
            let written = try await reviews.write(
                try TestReviews.words(), stars: 4, about: Self.app, by: anna, owns: true)
            #expect(written.id == first.id && written.createdAt == first.createdAt)
            #expect(written.editedAt == TestClock.start + 1_000)
            test.clock.milliseconds += 1_000
            // The same again, as after a lost answer, changes nothing.
            let again = try await reviews.write(
                try TestReviews.words(), stars: 4, about: Self.app, by: anna, owns: true)
            #expect(again == written)
            let rated = try await reviews.rate(Self.app, stars: 5, by: anna, owns: true)
            #expect(rated.words == written.words && rated.stars == 5 && rated.editedAt == TestClock.start + 2_000)
            #expect(try await reviews.review(of: Self.app, by: anna) == rated)
            #expect(try await reviews.review(rated.id) == rated)
            #expect(try await reviews.page(of: Self.app, in: .unitedStates, limit: 10) == [rated])
            #expect(try test.rating().histogram == [0, 0, 0, 0, 1])
            let alone = try await reviews.write(nil, stars: 5, about: Self.app, by: anna, owns: true)
            #expect(alone.words == nil)
            #expect(try await reviews.page(of: Self.app, in: .unitedStates, limit: 10).isEmpty)
            for _ in 1...2 { try await reviews.remove(Self.app, by: anna) }
            #expect(try await reviews.review(of: Self.app, by: anna) == nil)
            #expect(try test.rating() == .none && reviews.ratings.all.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func badInputIsRefusedAndNothingIsRecorded(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let anna = test.reviewer()
            func write(
                _ stars: Int = 3, _ title: String? = "Good", _ text: String? = "Yes", item: Int64 = Self.app,
                in storefront: String = "USA", owns: Bool = true
            ) async throws -> WireError.Code? {
                try await refusal {
                    try await test.reviews.write(
                        try ReviewWords(title: title, text: text), stars: stars, about: item,
                        by: test.reviewer(in: storefront), owns: owns)
                }
            }
            for stars in [0, 6, -1, Int.max, Int.min] { #expect(try await write(stars) == .invalidStars, "\(stars)") }
            #expect(try await write(3, "Good", nil) == .invalidRequest)
            #expect(try await write(3, nil, "Yes") == .invalidRequest)
            #expect(try await write(3, "\u{0}\u{1B} \n", "Yes") == .invalidRequest)
            #expect(try await write(3, String(repeating: "x", count: 101)) == .reviewTooLong)
            #expect(try await write(3, "e" + String(repeating: "\u{301}", count: 100)) == .reviewTooLong)
            #expect(try await write(3, "Good", String(repeating: "字", count: 6_001)) == .reviewTooLong)
            #expect(try await write(item: 9) == .unknownItem)
            #expect(try await write(item: Int64.max) == .unknownItem)
            #expect(try await write(item: TestReviews.american, in: "DEU") == .unknownItem)
            #expect(try await write(in: "XXX") == .unknownItem)
            #expect(try await write(owns: false) == .notOwned)
            let codes = [
                try await refusal { try await test.reviews.answer(UUID(), "Thanks") },
                try await refusal { try await test.reviews.hide(UUID(), reason: "Rude") },
                try await refusal { try await test.reviews.unhide(UUID()) },
                try await refusal { try await test.reviews.removeAnswer(UUID()) },
                try await refusal { try await test.reviews.review(UUID()) },
            ]
            #expect(codes == Array(repeating: .unknownReview, count: 5))
            #expect(try await test.reviews.list(limit: 10).isEmpty && test.reviews.ratings.all.isEmpty)

            // The longest ones are taken whole.
            let words = try #require(
                try ReviewWords(
                    title: String(repeating: "題", count: 100), text: String(repeating: "😀", count: 6_000)))
            let review = try await test.reviews.write(words, stars: 1, about: Self.app, by: anna, owns: true)
            #expect(try await test.reviews.review(review.id).words == words)
            let longest = String(repeating: "é", count: 5_970)
            #expect(try await test.reviews.answer(review.id, longest).answer?.text == longest)
            #expect(try await refusal { try await test.reviews.answer(review.id, longest + "!") } == .reviewTooLong)
            #expect(try await refusal { try await test.reviews.answer(review.id, " \n\u{7}") } == .invalidRequest)
            #expect(try await refusal { try await test.reviews.hide(review.id, reason: "") } == .invalidRequest)
            let reason = String(repeating: "x", count: 501)
            #expect(try await refusal { try await test.reviews.hide(review.id, reason: reason) } == .reviewTooLong)
        }
    }

    @Test(arguments: Backend.available) func hostileTextStaysText(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let hostile = "'); DROP TABLE reviews; -- <script>alert(1)</script> \u{202E}gnp.exe שלום $1 %00 \\"
            let words = try #require(
                try ReviewWords(title: "  A\u{0}\u{1B}[2J\nB\u{85}C ", text: "\r\n\(hostile)\r\n\tEnd\u{9F}\n\n"))
            #expect(words.title == "A[2J BC")
            #expect(words.text == hostile + "\nEnd")
            let review = try await test.reviews.write(
                words, stars: 3, about: Self.app, by: test.reviewer(), owns: true)
            #expect(try await test.reviews.page(of: Self.app, in: .unitedStates, limit: 1) == [review])
            #expect(try await test.reviews.review(review.id).words?.text.unicodeScalars.contains("\u{202E}") == true)
        }
    }

    @Test(arguments: Backend.available) func ratingsCountByVersionAndStorefrontInBothEnvironments(
        _ backend: Backend
    ) async throws {
        try await TestReviews.with(backend) { test in
            let reviews = test.reviews
            try test.release(["1.0"])
            try await reviews.rate(Self.app, stars: 1, by: test.reviewer(1), owns: true)
            try await reviews.rate(Self.app, stars: 2, by: test.reviewer(2), owns: true)
            // An account of the same id in the other environment is another customer.
            try await reviews.rate(Self.app, stars: 5, by: test.reviewer(1, .production), owns: true)
            try await reviews.rate(Self.app, stars: 4, by: test.reviewer(1, in: "DEU"), owns: true)
            #expect(try test.rating() == ItemRating(histogram: [1, 1, 0, 0, 1], currentHistogram: [1, 1, 0, 0, 1]))
            #expect(try test.rating(in: "DEU").histogram == [0, 0, 0, 1, 0])
            #expect(try test.rating(in: "FRA") == .none)
            try test.release(["2.0", "1.0"])
            #expect(try test.rating() == ItemRating(histogram: [1, 1, 0, 0, 1], currentHistogram: [0, 0, 0, 0, 0]))
            // An edited rating is of the current version.
            let edited = try await reviews.rate(Self.app, stars: 1, by: test.reviewer(1), owns: true)
            #expect(edited.version == "2.0")
            #expect(try test.rating() == ItemRating(histogram: [1, 1, 0, 0, 1], currentHistogram: [1, 0, 0, 0, 0]))
            let book = TestReviews.book
            let unversioned = try await reviews.rate(book, stars: 3, by: test.reviewer(), owns: true)
            #expect(unversioned.version == nil)
            #expect(
                try test.rating(book) == ItemRating(histogram: [0, 0, 1, 0, 0], currentHistogram: [0, 0, 1, 0, 0]))
            let restarted = try await test.restarted()
            #expect(restarted.reviews.ratings.all == reviews.ratings.all)
            #expect(try restarted.rating() == test.rating())
        }
    }

    @Test(arguments: Backend.available) func aHiddenReviewIsNeitherShownNorCounted(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let (reviews, anna) = (test.reviews, test.reviewer())
            let words = try TestReviews.words()
            let review = try await reviews.write(words, stars: 1, about: Self.app, by: anna, owns: true)
            try await reviews.write(words, stars: 5, about: Self.app, by: test.reviewer(2), owns: true)
            let hidden = try await reviews.hide(review.id, reason: " Rude. ")
            #expect(hidden.hiding == Review.Hiding(reason: "Rude.", date: TestClock.start))
            #expect(try test.rating().histogram == [0, 0, 0, 0, 1])
            #expect(try await reviews.page(of: Self.app, in: .unitedStates, limit: 9).map(\.stars) == [5])
            // Hiding again changes the reason only; its author sees it and can neither show nor replace it.
            test.clock.milliseconds += 1
            #expect(try await reviews.hide(review.id, reason: "Very rude.").hiding?.date == TestClock.start)
            let edited = try await reviews.write(words, stars: 2, about: Self.app, by: anna, owns: true)
            #expect(edited.hiding?.reason == "Very rude." && edited.id == review.id)
            #expect(try await refusal { try await reviews.remove(Self.app, by: anna) } == .wrongState)
            #expect(try test.rating().histogram == [0, 0, 0, 0, 1])
            #expect(try await reviews.list(onlyHidden: true, limit: 9) == [edited])
            #expect(try await reviews.list(item: Self.app, limit: 9).count == 2)
            #expect(try await test.restarted().reviews.ratings.all == reviews.ratings.all)
            #expect(try await reviews.unhide(review.id).hiding == nil)
            #expect(try test.rating().histogram == [0, 1, 0, 0, 1])
            #expect(try await reviews.list(onlyHidden: true, limit: 9).isEmpty)
            try await reviews.remove(Self.app, by: anna)
            #expect(try test.rating().histogram == [0, 0, 0, 0, 1])
        }
    }

    @Test(arguments: Backend.available) func anAnswerStaysAndItsTimeTellsWhatItAnswers(
        _ backend: Backend
    ) async throws {
        try await TestReviews.with(backend) { test in
            let (reviews, anna) = (test.reviews, test.reviewer())
            let words = try TestReviews.words()
            let id = try await reviews.write(words, stars: 1, about: Self.app, by: anna, owns: true).id
            let answered = try await reviews.answer(id, "Sorry.\nPlease update.")
            #expect(answered.answer?.text == "Sorry.\nPlease update." && !answered.isChangedSinceAnswer)
            // The clock stands still, and goes back.
            let edited = try await reviews.rate(Self.app, stars: 4, by: anna, owns: true)
            #expect(edited.answer == answered.answer && edited.isChangedSinceAnswer)
            test.clock.milliseconds -= 10_000
            #expect(try await reviews.answer(id, "Thanks.").isChangedSinceAnswer == false)
            #expect(try await reviews.rate(Self.app, stars: 5, by: anna, owns: true).isChangedSinceAnswer)
            for _ in 1...2 { #expect(try await reviews.removeAnswer(id).answer == nil) }
            #expect(try test.rating().histogram == [0, 0, 0, 0, 1])
        }
    }

    @Test(arguments: Backend.available) func pagesHaveEachReviewOnce(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let words = try TestReviews.words()
            for number in 0..<20 {
                // Several have the same time.
                test.clock.milliseconds = TestClock.start + Int64(number / 3)
                try await test.reviews.write(
                    number % 7 == 6 ? nil : words, stars: 3, about: Self.app, by: test.reviewer(number), owns: true)
                try await test.reviews.write(
                    words, stars: 3, about: Self.app, by: test.reviewer(number, in: "DEU"), owns: true)
            }
            func pages(_ next: (ReviewCursor?) async throws -> [Review]) async throws -> [Review] {
                var (all, page): ([Review], [Review]) = ([], try await next(nil))
                while let last = page.last {
                    all += page
                    page = try await next(ReviewCursor(last.cursor.description))
                }
                return all
            }
            let shown = try await pages {
                try await test.reviews.page(of: Self.app, in: .unitedStates, after: $0, limit: 4)
            }
            #expect(shown.count == 18 && Set(shown.map(\.id)).count == 18)
            #expect(shown.allSatisfy { $0.words != nil && $0.storefront == "USA" })
            #expect(shown.map(\.editedAt) == shown.map(\.editedAt).sorted(by: >))
            let all = try await pages { try await test.reviews.list(after: $0, limit: 7) }
            #expect(all.count == 40 && Set(all.map(\.id)).count == 40)
            #expect(try await test.reviews.page(of: TestReviews.book, in: .unitedStates, limit: 4).isEmpty)
        }
    }

    @Test(arguments: [
        "", "-", "1", "1-", "x-8C5B3A5E-4F0C-4A6B-9B44-0E52F6C2A7D1", "1-8C5B3A5E", "99999999999999999999-",
    ])
    func whatIsNoCursorIsRefused(text: String) {
        #expect(ReviewCursor(text) == nil)
    }

    /// Random changes by several customers at the same time.
    @Test(arguments: Backend.available) func ratingsEqualACount(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            var generator = SeededGenerator(seed: 20)
            let words = try TestReviews.words()
            for round in 0..<8 {
                try test.release(round < 4 ? ["1.0"] : ["2.0", "1.0"])
                let orders = (0..<16).map { _ in
                    (
                        Int.random(in: 0..<7, using: &generator), Int.random(in: 0..<4, using: &generator),
                        Int.random(in: 1...5, using: &generator), Bool.random(using: &generator)
                    )
                }
                await withTaskGroup(of: Void.self) { group in
                    for (kind, customer, stars, isApp) in orders {
                        let item = isApp ? Self.app : TestReviews.book
                        let reviewer = test.reviewer(
                            customer / 2, customer == 3 ? .production : .sandbox, in: stars > 4 ? "DEU" : "USA")
                        group.addTask {
                            let (reviews, id) = (
                                test.reviews, try? await test.reviews.review(of: item, by: reviewer)?.id
                            )
                            // A refusal, such as of a hidden review's removal, changes nothing.
                            switch kind {
                            case 0: try? await reviews.remove(item, by: reviewer)
                            case 1: if let id { _ = try? await reviews.hide(id, reason: "Rude.") }
                            case 2: if let id { _ = try? await reviews.unhide(id) }
                            case 3: if let id { _ = try? await reviews.answer(id, "Thanks.") }
                            case 4: _ = try? await reviews.rate(item, stars: stars, by: reviewer, owns: true)
                            default:
                                _ = try? await reviews.write(
                                    words, stars: stars, about: item, by: reviewer, owns: true)
                            }
                        }
                    }
                }
                let counted = try await test.reviews.list(limit: 200).filter { $0.hiding == nil }
                    .reduce(into: RatingTotals()) { totals, review in totals.follow(from: nil, to: review) }
                #expect(test.reviews.ratings.all == counted.all, "round \(round)")
                #expect(try await test.restarted().reviews.ratings.all == counted.all, "round \(round)")
            }
            #expect(!test.reviews.ratings.all.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func manyRequestsOfOneCustomerMakeOneReview(_ backend: Backend) async throws {
        try await TestReviews.with(backend) { test in
            let ids = try await withThrowingTaskGroup(of: UUID.self) { group in
                for number in 0..<30 {
                    group.addTask {
                        try await test.reviews.rate(
                            Self.app, stars: 1 + number % 5, by: test.reviewer(), owns: true
                        ).id
                    }
                }
                return try await group.reduce(into: Set<UUID>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            #expect(try test.rating().count == 1)
        }
    }

    @Test(arguments: Backend.available) func afterAFailureOfTheDatabaseTheRatingsAreCountedAnew(
        _ backend: Backend
    ) async throws {
        try await TestReviews.with(backend) { test in
            let id = try await test.reviews.rate(Self.app, stars: 1, by: test.reviewer(), owns: true).id
            // A commit whose outcome the service did not learn.
            try await test.databases.apps.write { connection in
                try connection.execute("UPDATE reviews SET stars = 5 WHERE review_id = $1", [id.uuidString])
            }
            #expect(try test.rating().histogram == [1, 0, 0, 0, 0])
            var unstorable = test.reviewer()
            unstorable.accountID = AccountID("a\u{0}b")
            await #expect(throws: DatabaseError.self) {
                try await test.reviews.rate(Self.app, stars: 1, by: unstorable, owns: true)
            }
            #expect(try test.rating().histogram == [0, 0, 0, 0, 1])
        }
    }
}
