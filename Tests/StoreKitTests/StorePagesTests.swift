import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// Remembers what it was to show, and answers as the test says.
final class RecordedPresenter: StorePresenter {
    private let shown = Mutex<[String]>([])
    private let answer: StoreProductPageAnswer
    private let stars: Int?
    /// Pages and questions on the screen at once, at most.
    private let open = Mutex((now: 0, most: 0))

    init(_ answer: StoreProductPageAnswer = .done, stars: Int? = nil) { (self.answer, self.stars) = (answer, stars) }

    var lines: [String] { shown.withLock { $0 } }
    var mostAtOnce: Int { open.withLock { $0.most } }

    func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
        var product = page.product.map { "\($0.productIdentifier) \($0.name) \($0.formattedPrice)" }
        if let item = page.item { product = "\(item.name) by \(item.creator) \(item.formattedPrice ?? "")" }
        await record("\(page.itemIdentifier ?? 0) \(page.bundleIdentifier) \(product ?? "-") \(page.isForSale)")
        return answer
    }

    func tell(_ sentence: String) async { await record(sentence) }

    func askForReview(ofApp bundleIdentifier: String) async -> Int? {
        await record("review \(bundleIdentifier)")
        return stars
    }

    private func record(_ line: String) async {
        open.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        await Task.yield()
        shown.withLock { $0.append(line) }
        open.withLock { $0.now -= 1 }
    }
}

extension VisitDescription {
    /// A song that nobody has bought.
    static let song = VisitDescription(
        id: "0a", url: "http://store.test/visit/0a", name: "First Branch", creator: "The Gibbons", price: "$0.69",
        amount: Money(milliunits: 690, currency: "USD"), isOwned: false)
}

/// Counts the pages that are over.
// @unchecked: `count` is a Mutex, and all else is constant.
final class PageDelegate: NSObject, SKStoreProductViewControllerDelegate, @unchecked Sendable {
    private let count = Mutex(0)
    private let done: AsyncStream<Void>
    private let tell: AsyncStream<Void>.Continuation

    override init() { (done, tell) = AsyncStream.makeStream() }

    var finished: Int { count.withLock { $0 } }

    func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {
        count.withLock { $0 += 1 }
        tell.yield()
    }

    func wait() async { for await _ in done { return } }
}

@Suite("Product pages", .timeLimit(.minutes(1)))
struct StorePagesTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private func launch(_ presenter: RecordedPresenter) -> StoreKitEngine {
        var configuration = device.configuration()
        configuration.presenter = presenter
        return device.launch(configuration)
    }

    @Test(
        arguments: [
            (["id": 11], "11 com.example.monkeys com.example.monkeys.credits5 Credits $0.99 true"),
            (["id": NSNumber(value: 1)], "1 com.example.monkeys - false"),
            (["id": "12"], "12 com.example.apes com.example.apes.hat Hat $0.99 false"),
            (
                ["id": 1, "productIdentifier": "com.example.monkeys.credits10"],
                "1 com.example.monkeys com.example.monkeys.credits10 Credits $0.99 true"
            ),
            // As with Apple's StoreKit, a product that the app does not sell is ignored.
            (
                ["id": 1, "productIdentifier": "com.example.monkeys.gone"],
                "1 com.example.monkeys - false"
            ),
            (
                ["productIdentifier": "com.example.monkeys.credits5", "ct": "ignored"],
                "0 com.example.monkeys com.example.monkeys.credits5 Credits $0.99 true"
            ),
        ] as [(Parameters, String)])
    fileprivate func `a page is loaded by number or identifier, and shown`(
        parameters: Parameters, expected: String
    ) async throws {
        let presenter = RecordedPresenter()
        let delegate = PageDelegate()
        let page = SKStoreProductViewController(engine: launch(presenter))
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: parameters.values))
        await page.present()
        await delegate.wait()
        #expect(presenter.lines == [expected])
        // Nobody bought.
        #expect(!device.store.asked.contains("purchases"))
    }

    /// The tests' parameters, in the types in which apps give them.
    struct Parameters: @unchecked Sendable, ExpressibleByDictionaryLiteral, CustomTestStringConvertible {
        // @unchecked: a constant of values.
        let values: [String: Any]
        init(dictionaryLiteral elements: (String, Any)...) {
            values = Dictionary(elements, uniquingKeysWith: { $1 })
        }
        var testDescription: String { values.sorted { $0.key < $1.key }.description }
    }

    @Test(
        arguments: [
            ["id": 99], ["productIdentifier": "gone"], [:],
            ["id": "eleven"], ["id": 1.5], ["id": -3], ["id": 11, "productIdentifier": ""],
            ["productIdentifier": 7],
        ] as [Parameters])
    func `a missing page is code 5, and nothing is shown`(parameters: Parameters) async {
        let presenter = RecordedPresenter()
        let page = SKStoreProductViewController(engine: launch(presenter))
        let answer = await load(page, parameters)
        #expect(answer == "false 5")
        #expect(presenter.lines.isEmpty)
    }

    @Test func `an unavailable store is code 0`() async {
        device.store.change { $0.isDown = true }
        let page = SKStoreProductViewController(engine: launch(RecordedPresenter()))
        #expect(await load(page, ["id": 11]) == "false 0")
        var configuration = device.configuration()
        configuration.store = nil
        let nowhere = StoreKitEngine(
            configuration: configuration, transport: nil, timer: ManualTimer(), backoff: Backoff(jitter: { 1 }),
            newKey: { device.nextKey() })
        #expect(await load(SKStoreProductViewController(engine: nowhere), ["id": 11]) == "false 0")
    }

    private func load(_ page: SKStoreProductViewController, _ parameters: Parameters) async -> String {
        await withCheckedContinuation { continuation in
            page.loadProduct(withParameters: parameters.values) { isLoaded, error in
                continuation.resume(returning: "\(isLoaded) \((error as? SKError)?.code.rawValue ?? -1)")
            }
        }
    }

    @Test func `buying on the page puts a payment into the queue`() async throws {
        let engine = launch(RecordedPresenter(.buy))
        let observer = GrantBook().observer()
        let queue = SKPaymentQueue(engine: engine)
        queue.add(observer)
        let page = SKStoreProductViewController(engine: engine)
        #expect(try await page.loadProduct(withParameters: ["id": 11]))
        await page.present()
        await observer.wait { $0.contains { $0.hasPrefix("removed purchased") } }
        #expect(device.store.purchases.values.map(\.request.productID) == ["com.example.monkeys.credits5"])
        await engine.stop()
    }

    @Test func `another app's product is not bought, whatever the presenter answers`() async throws {
        let delegate = PageDelegate()
        let engine = launch(RecordedPresenter(.buy))
        let page = SKStoreProductViewController(engine: engine)
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: ["id": 12]))
        await page.present()
        await delegate.wait()
        #expect(engine.payments.isEmpty)
    }

    /// As code does that is not async, and gives no completion handler.
    private func loadAll(_ pages: [SKStoreProductViewController]) {
        for page in pages {
            page.loadProduct(withParameters: ["id": 11])
            page.present()
        }
    }

    @Test func `one page is shown at a time`() async throws {
        let presenter = RecordedPresenter()
        let engine = launch(presenter)
        let delegates = (0..<8).map { _ in PageDelegate() }
        let pages = delegates.map { delegate in
            let page = SKStoreProductViewController(engine: engine)
            page.delegate = delegate
            return page
        }
        loadAll(pages)
        for delegate in delegates { await delegate.wait() }
        #expect(presenter.lines.count == 8 && presenter.mostAtOnce == 1)
    }

    @Test func `an item of the storefront is shown and bought at the price on its page`() async throws {
        device.store.change { $0.visits[40] = VisitDescription.song }
        let presenter = RecordedPresenter(.buy)
        let delegate = PageDelegate()
        let page = SKStoreProductViewController(engine: launch(presenter))
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: ["id": 40]))
        await page.present()
        await delegate.wait()
        #expect(presenter.lines == ["40  First Branch by The Gibbons $0.69 true", "Bought First Branch."])
        #expect(device.store.change { $0.itemsBought } == [40])
        #expect(device.store.asked.filter { $0 == "purchases" }.isEmpty)
    }

    @Test(
        arguments: [
            (["id": 40, "at": "11l", "ct": "spring", "pt": 7], "11l spring 7"), (["id": 40, "pt": "118"], "- - 118"),
            (["id": 40, "ct": "", "at": 1.5, "advp": "x"], "none"), (["id": 40], "none"),
        ] as [(Parameters, String)])
    fileprivate func `the campaign of a page travels to the store`(
        parameters: Parameters, expected: String
    ) async throws {
        device.store.change { $0.visits[40] = VisitDescription.song }
        let page = SKStoreProductViewController(engine: launch(RecordedPresenter()))
        #expect(try await page.loadProduct(withParameters: parameters.values))
        // The customer signs in for the page, which is then opened again.
        let request = try #require(device.store.change { $0.visitRequests.last })
        let campaign = request.campaign.map { campaign in
            [campaign.affiliate, campaign.campaign, campaign.provider].map { $0 ?? "-" }.joined(separator: " ")
        }
        #expect(campaign ?? "none" == expected)
    }

    @Test func `an item that was not bought is told, and the delegate is called`() async throws {
        device.store.change { $0.visits[40] = VisitDescription.song }
        let refusal = WireError(code: .paymentDeclined, message: "No funds.")
        device.store.failNext("buyItem", .refusal(403, refusal))
        let presenter = RecordedPresenter(.buy)
        let delegate = PageDelegate()
        let page = SKStoreProductViewController(engine: launch(presenter))
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: ["id": 40]))
        await page.present()
        await delegate.wait()
        #expect(presenter.lines.last == "First Branch was not bought. No funds.")
        #expect(device.store.change { $0.itemsBought }.isEmpty)
    }

    @Test func `a lost answer is not told as a purchase that failed`() async throws {
        device.store.change { $0.visits[40] = VisitDescription.song }
        device.store.failNext("buyItem", .lostAnswer)
        let presenter = RecordedPresenter(.buy)
        let delegate = PageDelegate()
        let page = SKStoreProductViewController(engine: launch(presenter))
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: ["id": 40]))
        await page.present()
        await delegate.wait()
        #expect(device.store.change { $0.itemsBought } == [40])
        #expect(
            presenter.lines.last == "The store did not answer. Open the page again to see whether you own First Branch."
        )
    }

    @Test(arguments: [nil, ItemFileDescription(item: 40, title: "First Branch", name: "a.wav", length: 1)])
    func `a purchase whose answer was lost is repeated under its key`(_ file: ItemFileDescription?) async throws {
        var song = VisitDescription.song
        song.files = file.map { [$0] }
        device.store.change { [song] in $0.visits[40] = song }
        device.store.failNext("buyItem", .lostAnswer)
        let engine = launch(RecordedPresenter(.buy))
        for _ in 1...2 {
            let delegate = PageDelegate()
            let page = SKStoreProductViewController(engine: engine)
            page.delegate = delegate
            #expect(try await page.loadProduct(withParameters: ["id": 40]))
            await page.present()
            await delegate.wait()
        }
        let keys = device.store.change { $0.itemKeys }
        #expect(keys.count == 2 && Set(keys).count == 1)
        await engine.stop()
    }

    @Test(arguments: [VisitState.bought, .closed])
    func `a page in a browser is over when the customer has bought or closed it`(_ end: VisitState) async throws {
        device.store.change {
            $0.visits[40] = VisitDescription.song
            $0.visitStates = [.open, .open, end]
        }
        let opened = Mutex<[String]>([])
        var configuration = device.configuration()
        configuration.presenter = WebStorePresenter { address in opened.withLock { $0.append(address) } }
        let delegate = PageDelegate()
        let page = SKStoreProductViewController(engine: device.launch(configuration))
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: ["id": 40]))
        await page.present()
        await delegate.wait()
        #expect(opened.withLock { $0 } == ["http://store.test/visit/0a"])
        #expect(device.store.asked.filter { $0 == "visit" }.count == 3)
    }

    @Test func `the terminal's page of an item has its price and address`() {
        var page = StoreProductPage(
            itemIdentifier: 1, bundleIdentifier: "", isForSale: true,
            item: .init(
                name: "So\u{1B}ng", creator: "Ann", formattedPrice: "$0.69", isOwned: false, address: "http://a/b"))
        #expect(TerminalStorePresenter.text(of: page) == "\n  Song  $0.69\n  by Ann\n  More at http://a/b\n")
        page.item?.isOwned = true
        #expect(TerminalStorePresenter.text(of: page).contains("Song  owned"))
        #expect(TerminalStorePresenter.question(about: page) == "[b]uy or [d]one? ")
        page.item?.ratingCount = 2
        page.item?.averageRating = 3.96
        page.item?.reviews = [
            .init(stars: 4, title: "Go\u{1B}od", text: "One\nTwo"), .init(stars: 1, title: "No", text: "?"),
        ]
        page.item?.ownReview = .init(stars: 5)
        #expect(
            TerminalStorePresenter.text(of: page) == """

                  Song  owned
                  by Ann
                  4.0 of 5 stars (2 ratings)
                  ★★★★☆ Good – OneTwo
                  ★☆☆☆☆ No – ?
                  Your review: ★★★★★
                  More at http://a/b

                """)
        // Only the owner reviews, on a page that the store opened for the customer.
        page.isForSale = false
        #expect(!page.isReviewable && TerminalStorePresenter.question(about: page) == "[d]one? ")
        page.visit = .song
        #expect(page.isReviewable && TerminalStorePresenter.question(about: page) == "[r]eview or [d]one? ")
    }

    /// Answers as the test says, one answer for each page, and remembers the reviews that the pages show.
    private final class Reviewer: StorePresenter {
        private let answers: Mutex<[StoreProductPageAnswer]>
        private let own = Mutex<[StoreProductPage.Review?]>([])
        private let sentences = Mutex<[String]>([])

        init(_ answers: [StoreProductPageAnswer]) { self.answers = Mutex(answers) }

        var shown: [StoreProductPage.Review?] { own.withLock { $0 } }
        var told: [String] { sentences.withLock { $0 } }

        func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
            own.withLock { $0.append(page.item?.ownReview) }
            return answers.withLock { $0.isEmpty ? .done : $0.removeFirst() }
        }
        func tell(_ sentence: String) async { sentences.withLock { $0.append(sentence) } }
        func askForReview(ofApp bundleIdentifier: String) async -> Int? { nil }
    }

    private func review(_ answers: [StoreProductPageAnswer], isOwned: Bool = true) async throws -> Reviewer {
        var song = VisitDescription.song
        song.isOwned = isOwned
        device.store.change { [song] in $0.visits[40] = song }
        let presenter = Reviewer(answers)
        var configuration = device.configuration()
        configuration.presenter = presenter
        let engine = device.launch(configuration)
        let delegate = PageDelegate()
        let page = SKStoreProductViewController(engine: engine)
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: ["id": 40]))
        await page.present()
        await delegate.wait()
        await engine.stop()
        return presenter
    }

    @Test func `the owner reviews the item on its page, which is then shown again`() async throws {
        let words = StoreProductPage.Review(stars: 4, title: "Good", text: "Very")
        let presenter = try await review([.review(words), .review(.init(stars: 2)), .done])
        #expect(
            device.store.change { $0.visitReviews } == [
                VisitReviewRequest(stars: 4, title: "Good", text: "Very"), VisitReviewRequest(stars: 2),
            ])
        #expect(presenter.shown == [nil, words, .init(stars: 2)])
        #expect(presenter.told == Array(repeating: "Thank you for your review of First Branch.", count: 2))
    }

    @Test func `a review that the store does not take is told`() async throws {
        device.store.failNext("reviewVisit", .refusal(400, WireError(code: .invalidStars, message: "1 to 5 stars.")))
        device.store.failNext("reviewVisit", .lostRequest)
        let presenter = try await review([.review(.init(stars: 9)), .review(.init(stars: 4)), .done])
        #expect(
            presenter.told == [
                "The review was not sent. 1 to 5 stars.", "The review was not sent. The store did not answer.",
            ])
        #expect(presenter.shown == [nil, nil, nil])
    }

    @Test func `who does not own the item reviews nothing, whatever the presenter answers`() async throws {
        let presenter = try await review([.review(.init(stars: 4))], isOwned: false)
        #expect(presenter.shown.count == 1 && presenter.told.isEmpty)
        #expect(!device.store.asked.contains("reviewVisit"))
    }

    @Test func `the terminal's page contains no control characters of the store`() {
        let product = StoreProductPage.Product(
            productIdentifier: "p", name: "Cre\u{1B}[2Jdits", description: "", price: 0.99,
            priceLocale: Locale(identifier: "en_US"))
        let page = StoreProductPage(
            itemIdentifier: 1, bundleIdentifier: "b", appName: "Mon\rkeys", product: product, isForSale: true)
        #expect(TerminalStorePresenter.text(of: page) == "\n  Cre[2Jdits  $0.99\n  from Monkeys\n")
    }
}

@Suite("Review requests", .timeLimit(.minutes(1)))
struct ReviewTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private static let day = 86_400.0
    private static let start = Date(timeIntervalSince1970: 1_770_000_000)

    @Test func `at most three are shown in 365 days, over relaunches`() async {
        let presenter = RecordedPresenter()
        var configuration = device.configuration()
        configuration.presenter = presenter
        var shownAfter: [Int] = []
        // Day by day: 0, 1 and 200 are shown; then nothing until day 365, when the first is a year ago.
        for day in [0, 1, 200, 201, 364, 365, 365.5, 366, 400, 565] {
            let engine = device.launch(configuration)
            await engine.requestReview(at: Self.start.addingTimeInterval(day * Self.day))
            shownAfter.append(presenter.lines.count)
            await engine.stop()
        }
        #expect(shownAfter == [1, 2, 3, 3, 3, 4, 4, 5, 5, 6])
        #expect(Set(presenter.lines) == ["review com.example.monkeys"])
    }

    @Test func `a wrong clock does not stop requests forever`() {
        var history = ReviewHistory()
        let wrong: Int64 = 9_000_000_000_000
        let answers = [wrong, wrong, wrong, wrong, 1_770_000_000_000].map { history.mayShow(at: $0) }
        #expect(answers == [true, true, true, false, true])
    }

    @Test func `in any span of 365 days there are at most three`() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<50 {
            var history = ReviewHistory()
            var now: Int64 = 1_770_000_000_000
            var shown: [Int64] = []
            for _ in 0..<200 {
                now += Int64.random(in: 0..<(40 * 86_400_000), using: &generator)
                if history.mayShow(at: now) { shown.append(now) }
            }
            #expect(shown.count > 20)
            for (index, first) in shown.enumerated() where index + 3 < shown.count {
                #expect(shown[index + 3] - first >= ReviewHistory.span)
            }
        }
    }

    @Test func `a request that cannot be recorded is not shown`() async {
        let presenter = RecordedPresenter()
        let pages = StorePages(
            presenter: presenter, bundleIdentifier: "b", folder: nil, timer: ManualTimer(),
            backoff: Backoff(jitter: { 1 }))
        #expect(await pages.requestReview(at: Self.start) == nil)
        #expect(presenter.lines.isEmpty)
    }

    /// Asks once with this presenter and sheet, and gives the routes that the store was asked for.
    private func ask(
        _ stars: Int?, sheet: (any PaymentSheet)? = nil, diagnostics: @escaping @Sendable (String) -> Void = { _ in }
    ) async -> [String] {
        var configuration = sheet.map { device.configuration(sheet: $0) } ?? device.configuration()
        configuration.presenter = RecordedPresenter(stars: stars)
        configuration.diagnostics = diagnostics
        let engine = device.launch(configuration)
        await engine.requestReview(at: Self.start)
        await engine.stop()
        return device.store.asked
    }

    private var sent: [ReviewRequest] { device.store.change { $0.reviewRequests } }

    @Test(arguments: 1...5) func theStarsReachTheStore(stars: Int) async {
        // Nobody is signed in, so the customer signs in first.
        #expect(await ask(stars) == ["signIn", "writeReview"])
        #expect(sent == [ReviewRequest(bundleID: "com.example.monkeys", stars: stars)])
        // The next one needs no password, unless the store has forgotten the token.
        #expect(await ask(stars) == ["signIn", "writeReview", "writeReview"])
        device.store.change { $0.tokens = [:] }
        _ = await ask(stars)
        #expect(sent.count == 3)
    }

    @Test(arguments: [nil, 0, 6, -1, Int.max]) func notNowSendsNothing(stars: Int?) async {
        #expect(await ask(stars).isEmpty)
    }

    @Test func aCancelledSignInSendsNothing() async {
        #expect(await ask(5, sheet: AutomaticPaymentSheet(answer: .buy, credentials: nil)).isEmpty)
    }

    @Test func aFailureIsDiagnosedAndTheAppGoesOn() async {
        _ = await ask(5)
        let said = Mutex<[String]>([])
        let say: @Sendable (String) -> Void = { line in said.withLock { $0.append(line) } }
        device.store.failNext("writeReview", .lostRequest)
        _ = await ask(4, diagnostics: say)
        device.store.failNext("writeReview", .refusal(404, WireError(code: .unknownItem, message: "No item.")))
        _ = await ask(3, diagnostics: say)
        #expect(sent.map(\.stars) == [5])
        let lines = said.withLock { $0 }.filter { $0.hasPrefix("the rating was not sent: ") }
        #expect(lines.count == 2 && lines[0].contains("unreachable") && lines[1].contains("unknown_item"))
    }

    @Test func nothingIsShownWithoutAStore() async {
        var configuration = device.configuration()
        let presenter = RecordedPresenter(stars: 5)
        configuration.presenter = presenter
        configuration.store = nil
        let nowhere = StoreKitEngine(
            configuration: configuration, transport: nil, timer: ManualTimer(), backoff: Backoff(jitter: { 1 }),
            newKey: { device.nextKey() })
        await nowhere.requestReview(at: Self.start)
        #expect(presenter.lines.isEmpty)
    }

    @Test(
        arguments: [
            ("1", 1), (" 5 ", 5), ("0", nil), ("6", nil), ("", nil), ("n", nil), ("five", nil), ("4.5", nil),
            (nil, nil),
            ("99999999999999999999", nil),
        ] as [(String?, Int?)])
    func theTerminalReadsStars(line: String?, stars: Int?) {
        #expect(TerminalStorePresenter.stars(line) == stars)
    }
}
