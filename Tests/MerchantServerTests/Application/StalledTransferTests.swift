import Foundation
import HTTPSupport
import Merchant
import MerchantWire
import Synchronization
import TestSupport
import Testing

@testable import MerchantServer

@Suite("Uploads and downloads that stand still", .timeLimit(.minutes(1)))
struct StalledTransferTests {
    private static func port(_ merchant: RunningMerchant) throws -> UInt16 {
        try #require(URL(string: merchant.address)?.port.flatMap { UInt16(exactly: $0) })
    }

    @Test func `who sends nothing more of a file is dropped, and leaves nothing`() async throws {
        try await RunningMerchant.with {
            $0.stallPatience = StallWatch.Rule(window: .milliseconds(100))
        } _: { merchant async throws in
            let (port, key) = (try Self.port(merchant), merchant.backendKey)
            let answer = try await RawConnection.run {
                let connection = try RawConnection(port: port)
                connection.write(
                    "PUT \(MerchantRoute.putContent("issue-12").path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
                        + "Content-Length: 1000\r\n\r\nThe beginning")
                // To the end of the connection, which only the merchant brings about.
                return connection.read(until: "never")
            }
            #expect(!answer.contains("201"))
            let list = try await merchant.send(.adminContent, as: key).decoded(ContentList.self)
            #expect(list.items == [])
        }
    }

    /// How much the app takes in each minute, and whether that is enough.
    @Test(arguments: [(0, false), (1, false), (1 << 20, true)])
    func `who takes nothing of a file, or a byte now and then, is dropped, and who takes enough is not`(
        _ bytes: Int, _ isEnough: Bool
    ) async throws {
        let taker = Taker()
        let (steps, step) = AsyncStream.makeStream(of: MerchantStep.self)
        try await RunningMerchant.with { configuration in
            configuration.stallPatience = StallWatch.Rule(window: .seconds(60)) { _ in
                // Before there is a download nothing is watched.
                guard try await taker.take(bytes) else { throw CancellationError() }
            }
            configuration.onStep = { if $0 == .deliveryEnded { step.yield($0) } }
        } _: { merchant async throws in
            let size = 15 << 20
            let put = try await merchant.send(
                .putContent("issue-12"), as: merchant.backendKey, [UInt8](repeating: 1, count: size),
                type: "application/octet-stream")
            #expect(put.status == 201)
            let token = try await merchant.token("ann")
            #expect(try await merchant.redeem("issue", "2000000000000001", as: token).status == 200)
            try await taker.begin(try Self.port(merchant), token)
            for await _ in steps { break }
            _ = try await taker.take(.max)
            #expect(isEnough ? taker.total > size : taker.total < size, "\(taker.total)")
        }
    }

    /// An app that takes what it asked for bit by bit.
    private final class Taker: Sendable {
        private struct State {
            var held: Held?
            var total = 0
        }

        private let state = Mutex(State())

        var total: Int { state.withLock { $0.total } }

        func begin(_ port: UInt16, _ token: String) async throws {
            try await RawConnection.run {
                let held = Held(connection: try RawConnection(port: port, receiving: 64 << 10))
                self.state.withLock { $0.held = held }
                held.connection.write(
                    "GET \(MerchantRoute.contentFile("issue-12").path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n"
                        + "Connection: close\r\n\r\n")
            }
        }

        /// Takes so many bytes, or all there are; false when nothing was asked for yet.
        func take(_ count: Int) async throws -> Bool {
            try await RawConnection.run {
                self.state.withLock { state in
                    guard let connection = state.held?.connection else { return false }
                    state.total += connection.read(count)
                    return true
                }
            }
        }
    }

    // @unchecked: used by one thread after another.
    private struct Held: @unchecked Sendable { let connection: RawConnection }
}
