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

    @Test func anAnswerIsGivenOnceAndForgotten() async throws {
        let board = SheetBoard(now: { .now })
        let id = try #require(board.post(Self.question))
        #expect(id.utf8.count == 32 && board.question(id) == Self.question)
        guard case .waiting = await board.outcome(id, waiting: .zero) else {
            Issue.record("another outcome")
            return
        }
        async let outcome = board.outcome(id, waiting: .seconds(50))
        #expect(board.answer(id, SheetReply(choice: .accept, password: "secret")))
        #expect(!board.answer(id, SheetReply(choice: .decline)))
        guard case .answered(let reply) = await outcome else {
            Issue.record("another outcome")
            return
        }
        #expect(reply.choice == .accept && reply.password == "secret" && !"\(reply)".contains("secret"))
        guard case .gone = await board.outcome(id, waiting: .seconds(50)) else {
            Issue.record("another outcome")
            return
        }
        guard case .gone = await board.outcome("nothing", waiting: .seconds(50)) else {
            Issue.record("another outcome")
            return
        }
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
        #expect(!SheetQuestion(kind: .notice, title: "", lines: Array(repeating: "", count: 21)).isBounded)
        #expect(!SheetQuestion(kind: .notice, title: "", lines: [String(repeating: "x", count: 2001)]).isBounded)
    }
}
