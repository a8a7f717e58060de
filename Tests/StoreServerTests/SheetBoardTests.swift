import StoreWire
import Synchronization
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct SheetBoardTests {
    private static let question = SheetQuestion(kind: .confirm, title: "Hats", lines: ["$2.99"])

    /// A clock that the test moves.
    private final class Hand: Sendable {
        private let instant = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { instant.withLock { $0 } }
        func advance(by time: Duration) { instant.withLock { $0 += time } }
    }

    private static func text(_ outcome: SheetBoard.Outcome) -> String {
        switch outcome {
        case .answered(let reply): "\(reply.choice)"
        case .waiting: "waiting"
        case .gone: "gone"
        }
    }

    @Test func anAnswerCanBeAskedForAgainForAWhile() async throws {
        let hand = Hand()
        let board = SheetBoard(now: { hand.now })
        let id = try #require(board.post(Self.question))
        #expect(id.utf8.count == 32 && board.question(id) == Self.question)
        async let outcome = board.outcome(id, waiting: .seconds(60))
        #expect(board.answer(id, SheetReply(choice: .accept, password: "secret")))
        #expect(!board.answer(id, SheetReply(choice: .decline)))
        guard case .answered(let reply) = await outcome else {
            Issue.record("another outcome")
            return
        }
        #expect(reply.choice == .accept && reply.password == "secret" && !"\(reply)".contains("secret"))
        #expect(board.question(id) == nil)
        // The device did not get it.
        hand.advance(by: SheetBoard.answerLifetime - .seconds(1))
        #expect(Self.text(await board.outcome(id, waiting: .seconds(60))) == "accept")
        #expect(Self.text(await board.outcome(id, waiting: .zero)) == "accept")
        hand.advance(by: .seconds(1))
        #expect(Self.text(await board.outcome(id, waiting: .seconds(60))) == "gone")
        #expect(Self.text(await board.outcome("nothing", waiting: .seconds(60))) == "gone")
    }

    @Test func whoDoesNotWaitIsAnsweredAtOnce() async throws {
        let board = SheetBoard(now: { .now })
        let id = try #require(board.post(Self.question))
        for time: Duration in [.zero, .seconds(-1), .nanoseconds(1), .milliseconds(1)] {
            for _ in 0..<50 { #expect(Self.text(await board.outcome(id, waiting: time)) == "waiting") }
        }
    }

    @Test func theLongestWaitingGivesWay() async throws {
        let board = SheetBoard(now: { .now })
        let id = try #require(board.post(Self.question))
        let outcomes = await withTaskGroup(of: String.self) { group in
            for _ in 0..<6 { group.addTask { Self.text(await board.outcome(id, waiting: .seconds(60))) } }
            var outcomes = [await group.next(), await group.next()]
            #expect(board.answer(id, SheetReply(choice: .later)))
            for await outcome in group { outcomes.append(outcome) }
            return outcomes
        }
        #expect(outcomes == ["waiting", "waiting", "later", "later", "later", "later"])
    }

    @Test func aWaitEndsWithItsTask() async throws {
        let board = SheetBoard(now: { .now })
        let id = try #require(board.post(Self.question))
        let task = Task { Self.text(await board.outcome(id, waiting: .seconds(60))) }
        task.cancel()
        #expect(await task.value == "waiting")
    }

    @Test func noticesAndToldAnswersGiveWay() async throws {
        let hand = Hand()
        let board = SheetBoard(now: { hand.now })
        let told = try #require(board.post(Self.question))
        let answered = try #require(board.post(Self.question))
        let notice = try #require(board.post(SheetQuestion(kind: .notice, title: "Store", lines: [])))
        for _ in 3..<SheetBoard.most { _ = try #require(board.post(Self.question)) }
        #expect(board.answer(told, SheetReply(choice: .accept)) && board.answer(answered, SheetReply(choice: .accept)))
        #expect(Self.text(await board.outcome(told, waiting: .zero)) == "accept")
        for gone in [told, notice] {
            #expect(board.post(Self.question) != nil)
            #expect(Self.text(await board.outcome(gone, waiting: .zero)) == "gone")
        }
        // What nobody has fetched is kept.
        #expect(board.post(Self.question) == nil)
        #expect(Self.text(await board.outcome(answered, waiting: .zero)) == "accept")
    }

    @Test func sheetsAreFewAndEnd() async throws {
        let hand = Hand()
        let board = SheetBoard(now: { hand.now })
        var ids: [String] = []
        for _ in 0..<SheetBoard.most { ids.append(try #require(board.post(Self.question))) }
        #expect(Set(ids).count == SheetBoard.most && board.post(Self.question) == nil)
        hand.advance(by: SheetBoard.lifetime)
        #expect(board.question(ids[0]) == nil && !board.answer(ids[0], SheetReply(choice: .accept)))
        #expect(board.post(Self.question) != nil)
    }

    @Test func aSheetsPlaceSaysWhatBecameOfIt() async throws {
        let hand = Hand()
        let board = SheetBoard(now: { hand.now })
        func place(_ id: String) -> String {
            switch board.place(id) {
            case .open(let question): "open \(question.kind)"
            case .answered(let answered): "\(answered.choice) after \(answered.age)"
            case .gone: "gone"
            }
        }
        let answered = try #require(board.post(Self.question))
        let late = try #require(board.post(Self.question))
        #expect(place(answered) == "open confirm" && place("nothing") == "gone")
        #expect(board.answer(answered, SheetReply(choice: .decline, password: "secret")))
        hand.advance(by: .seconds(1))
        #expect(place(answered) == "decline after \(Duration.seconds(1))")
        hand.advance(by: SheetBoard.lifetime)
        #expect(place(late) == "gone" && place(answered).hasPrefix("decline"))
        // A new sheet makes room.
        let notice = try #require(board.post(SheetQuestion(kind: .notice, title: "Store", lines: [])))
        #expect(place(answered) == "gone" && place(notice) == "open notice")
        for _ in 1..<SheetBoard.most { _ = try #require(board.post(Self.question)) }
        #expect(place(notice) == "open notice")
        _ = try #require(board.post(Self.question))
        #expect(place(notice) == "gone" && !board.answer(notice, SheetReply(choice: .accept)))
    }

    @Test func aSheetLeadsToTheNext() async throws {
        let hand = Hand()
        let board = SheetBoard(now: { hand.now })
        func post(after previous: String?) throws -> String {
            var question = Self.question
            question.previous = previous
            return try #require(board.post(question))
        }
        let first = try post(after: nil)
        #expect(await board.next(after: first, waiting: .zero) == nil)
        async let next = board.next(after: first, waiting: .seconds(60))
        let second = try post(after: first)
        #expect(await next == second)
        // The last one counts of two that name the same sheet.
        let third = try post(after: first)
        #expect(await board.next(after: first, waiting: .zero) == third)
        #expect(await board.next(after: "nothing", waiting: .nanoseconds(1)) == nil)
        hand.advance(by: SheetBoard.lifetime)
        _ = try post(after: "nothing")
        #expect(await board.next(after: first, waiting: .zero) == nil)
    }

    @Test func longTextsAreCut() {
        let long = SheetQuestion(
            kind: .notice, title: String(repeating: "🐒", count: 1000),
            lines: Array(repeating: String(repeating: "x", count: 2001), count: 21))
        let shown = long.shortened
        #expect(shown.title.utf8.count == 999 && shown.title.hasSuffix("🐒…") && shown.lines.count == 20)
        #expect(shown.lines[0].utf8.count == 2000)
        var question = Self.question
        (question.previous, question.returnAddress, question.enteredEmail) = ("0", "http://localhost/", "a@example.com")
        question.environment = .production
        #expect(question.shortened == question)
    }

    @Test(arguments: [
        ("http://127.0.0.1", "http://127.0.0.1"), ("http://localhost:8080/a?b=c%20d&e", "http://localhost:8080"),
        ("https://monkey-credits.localhost:1/", "https://monkey-credits.localhost:1"),
        ("http://a.b.localhost?x", "http://a.b.localhost"),
    ]) func loopbackAddressesAreReturnedTo(address: String, origin: String) {
        #expect(ReturnAddress(address)?.origin == origin && ReturnAddress(address)?.text == address)
    }

    @Test(arguments: [
        "", "http://", "http:///", "/path", "localhost", "//localhost", "ftp://localhost", "javascript:alert(1)",
        "http://example.com", "http://localhost.example.com", "http://127.0.0.1.example.com", "http://127.0.0.2",
        "http://examplelocalhost", "http://.localhost", "http://a..localhost", "http://localhost.", "http://[::1]/",
        "http://localhost@example.com", "http://localhost:80@example.com", "http://example.com#.localhost",
        "http://localhost\\@example.com", "http://example.com\\.localhost", "http://example.com?.localhost",
        "http://localhost:", "http://localhost:0", "http://localhost:65536", "http://localhost:8o",
        "http://localhost:+1", "http://localhost:80:80", "http://localhost/#a", "http://localhost/ a",
        "http://localhost/\r\nSet-Cookie:a=b", "http://localhost/;\u{e9}", "http://exa%6Dple.localhost/",
        "http://localhost /", "HTTP://localhost/", "http://localhost; script-src *",
        "http://localhost/" + String(repeating: "a", count: 1000),
    ]) func otherAddressesAreNot(address: String) { #expect(ReturnAddress(address) == nil) }
}
