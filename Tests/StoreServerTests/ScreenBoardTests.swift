import ControlWire
import HTTPSupport
import Synchronization
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct ScreenBoardTests {
    private static func screen(_ number: Int) -> ControlAPI.Screen {
        ControlAPI.Screen(
            bundleId: "com.example.app\(number)", name: "App \(number)",
            address: "http://app.localhost:\(9000 + number)",
            device: "/device", environment: "production")
    }

    /// A board, and the clock that the test moves.
    private final class Bench: Sendable {
        let instant = Mutex(ContinuousClock.now)
        let changes = Mutex(0)

        func board() -> ScreenBoard {
            ScreenBoard(now: { self.instant.withLock { $0 } }, changed: { self.changes.withLock { $0 += 1 } })
        }

        func announce(_ screen: ControlAPI.Screen, _ seconds: Int, on board: ScreenBoard) throws -> Bool {
            try board.announce(ControlAPI.ScreenAnnouncement(screen: screen, seconds: seconds))
        }
    }

    @Test func anAppThatSaysNothingIsForgotten() throws {
        let bench = Bench()
        let board = bench.board()
        for number in [2, 1] { #expect(try bench.announce(Self.screen(number), 30, on: board)) }
        #expect(board.list == [Self.screen(1), Self.screen(2)])
        bench.instant.withLock { $0 += .seconds(20) }
        // Saying the same again is no change.
        #expect(try bench.announce(Self.screen(1), 30, on: board))
        #expect(bench.changes.withLock { $0 } == 2)
        bench.instant.withLock { $0 += .seconds(10) }
        #expect(board.list == [Self.screen(1)])
        #expect(try bench.announce(Self.screen(1), 0, on: board))
        #expect(board.list.isEmpty && bench.changes.withLock { $0 } == 3)
        #expect(try bench.announce(Self.screen(1), 0, on: board))
        #expect(bench.changes.withLock { $0 } == 3)
    }

    @Test func theListIsBounded() throws {
        let bench = Bench()
        let board = bench.board()
        for number in 0..<ScreenBoard.most { #expect(try bench.announce(Self.screen(number), 60, on: board)) }
        #expect(try !bench.announce(Self.screen(999), 60, on: board))
        #expect(try bench.announce(Self.screen(0), 60, on: board))
        bench.instant.withLock { $0 += .seconds(60) }
        #expect(try bench.announce(Self.screen(999), 60, on: board))
        #expect(board.list == [Self.screen(999)])
    }

    @Test func whatIsNoScreenIsRefused() {
        let bench = Bench()
        let board = bench.board()
        var screens: [ControlAPI.Screen] = []
        for address in ["", "/", "http://example.com", "ftp://localhost/", "http://localhost:99999/"] {
            var screen = Self.screen(1)
            screen.address = address
            screens.append(screen)
        }
        var (long, unknown) = (Self.screen(1), Self.screen(1))
        long.name = String(repeating: "é", count: 501)
        unknown.environment = "moon"
        for screen in screens + [long, unknown] {
            #expect(throws: HTTPProblem.self) { try bench.announce(screen, 30, on: board) }
        }
        for seconds in [-1, ScreenBoard.longest + 1, .max] {
            #expect(throws: HTTPProblem.self) { try bench.announce(Self.screen(1), seconds, on: board) }
        }
        #expect(board.list.isEmpty)
    }
}
