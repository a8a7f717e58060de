import Foundation
import KillTesting
import MerchantWire
import TestSupport
import Testing

@Suite("Stopping a merchant", .serialized, .timeLimit(.minutes(1)))
struct MerchantStopTests {
    @Test func `a running download completes before the process ends`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let setup = try await MerchantSetup(
                Programs.built(), folder: directory.url, databaseURL: nil, schema: "unused", items: ["book"])
            let merchant = try MerchantProcess(setup)
            try await merchant.start()
            let caller = MerchantCaller(merchant)
            let key = try await setup.makeKey("backend")
            let token = try await setup.token("ann")
            // More than lies in the kernel's buffers.
            let size = 32 << 20
            let put = try await caller.settle(
                .putContent("book"), as: key, [UInt8](repeating: 0x61, count: size), type: "text/plain")
            #expect(put.status == 201)
            let book = try setup.signed("get-book", "2000000000000001")
            #expect(try await caller.settle(.redemptions, as: token, book, type: "application/jose").status == 200)

            let port = try #require(URL(string: merchant.address)?.port.map { UInt16($0) })
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            async let isStopped: Bool = {
                for await _ in begun {}
                return await merchant.stop()
            }()
            let (head, count) = try await RawConnection.run {
                let connection = try RawConnection(port: port, receiving: 4_096)
                connection.write(
                    "GET \(MerchantRoute.contentFile("book").path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                        + "Authorization: Bearer \(token)\r\n\r\n")
                let head = connection.read()
                begin.finish()
                // Until nobody else is let in.
                while (try? RawConnection(port: port)) != nil { _ = poll(nil, 0, 5) }
                return (head, connection.readToEnd())
            }
            let rest = try #require(head.range(of: "\r\n\r\n")).upperBound
            #expect(head.hasPrefix("HTTP/1.1 200"))
            #expect(head[rest...].utf8.count + count == size)
            #expect(await isStopped)
        }
    }
}
