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

    @Test func whatIsShownStaysText() {
        let question = SheetQuestion(
            kind: .signIn, title: "<script>alert(1)</script>", lines: ["a & b\u{7}", "\"'"], email: "\"><img src=x>")
        let html = SheetPage.html(question, id: "0", nonce: "n")
        #expect(!html.contains("<script>alert") && !html.contains("<img") && html.contains("a &amp; b "))
        #expect(html.contains("&quot;&#39;"))
        let long = SheetQuestion(
            kind: .notice, title: String(repeating: "🐒", count: 1000),
            lines: Array(repeating: String(repeating: "x", count: 2001), count: 21))
        let shown = long.shortened
        #expect(shown.title.utf8.count == 999 && shown.title.hasSuffix("🐒…") && shown.lines.count == 20)
        #expect(shown.lines[0].utf8.count == 2000 && question.shortened == question)
    }
}
