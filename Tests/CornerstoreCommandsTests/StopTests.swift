import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite("The stop of a store with a merchant and a console", .timeLimit(.minutes(1))) struct StopTests {
    @Test func `store and merchant say that they stop while the console still answers a request`() async throws {
        try await RunningStore.with(merchant: MerchantSettings(port: 0), hasConsole: true) { store in
            let addresses = store.addresses
            let console = try #require(addresses.console.flatMap { URL(string: $0)?.port })
            let servers = [addresses.control, addresses.sandbox, try #require(addresses.merchant)]
            func ready(_ server: String) async throws -> (status: Int, text: String) {
                let answer = try await PlainHTTP.send(
                    "GET", server + "/ready", body: nil as Data?, headers: [], limit: 1 << 16)
                return (answer.status, String(decoding: answer.body, as: UTF8.self))
            }
            let (head, isRead) = AsyncStream.makeStream(of: Void.self)
            let isSeen = DispatchSemaphore(value: 0)
            // The console waits for the body of this request, and its stop for the request.
            async let request = RawConnection.run {
                defer { isRead.finish() }
                let connection = try RawConnection(port: UInt16(console))
                connection.write(
                    "POST /sign-out HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
                        + "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n")
                let answer = connection.read(until: "100 Continue")
                isRead.finish()
                isSeen.wait()
                return withExtendedLifetime(connection) { answer }
            }
            defer { isSeen.signal() }
            for await _ in head {}
            for server in servers { #expect(try await ready(server).status == 200) }
            await store.stop()
            try await until {
                for server in servers {
                    guard try await ready(server).status != 200 else { return false }
                }
                return true
            }
            for server in servers {
                let answer = try await ready(server)
                #expect(answer.status == 503 && answer.text.contains("stopping"), "\(server): \(answer.text)")
            }
            isSeen.signal()
            #expect(try await request.contains("100 Continue"))
        }
    }

    @Test func `a second signal ends a store that waits`() async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.path("App.storekit")
            try Data(RunningStore.catalog.utf8).write(to: URL(fileURLWithPath: catalog))
            let serve = try await ServeProcess(
                [catalog + "=com.example.app", "--no-merchant", "--drain-delay", "60"], data: directory.path("data"))
            let control = try #require(serve.report["control"])
            serve.terminate()
            try await until { try await HTTPReply("GET", control + "/ready").status == 503 }
            #expect(serve.isRunning)
            // Those that come within a second of the first have no effect.
            try await until {
                serve.terminate()
                return !serve.isRunning
            }
            #expect(serve.stop() == 1)
        }
    }
}
