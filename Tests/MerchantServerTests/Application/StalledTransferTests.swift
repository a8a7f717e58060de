import Foundation
import Merchant
import MerchantWire
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
            $0.stallPatience = .milliseconds(100)
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

    @Test func `who reads nothing of a file is dropped`() async throws {
        let (steps, step) = AsyncStream.makeStream(of: MerchantStep.self)
        try await RunningMerchant.with { configuration in
            // The upload before it must not be taken for one that stands still.
            configuration.stallPatience = .seconds(1)
            configuration.onStep = { if $0 == .deliveryEnded { step.yield($0) } }
        } _: { merchant async throws in
            let size = 15 << 20
            let put = try await merchant.send(
                .putContent("issue-12"), as: merchant.backendKey, [UInt8](repeating: 1, count: size),
                type: "application/octet-stream")
            #expect(put.status == 201)
            let token = try await merchant.token("ann")
            #expect(try await merchant.redeem("issue", "2000000000000001", as: token).status == 200)
            let port = try Self.port(merchant)
            let connection = try await RawConnection.run {
                Held(connection: try RawConnection(port: port, receiving: 64 << 10))
            }
            _ = try await RawConnection.run {
                connection.connection.write(
                    "GET \(MerchantRoute.contentFile("issue-12").path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
                )
            }
            for await _ in steps { break }
            let read = try await RawConnection.run { connection.connection.readToEnd() }
            #expect(read < size)
        }
    }

    // @unchecked: used by one thread after another.
    private struct Held: @unchecked Sendable { let connection: RawConnection }
}
