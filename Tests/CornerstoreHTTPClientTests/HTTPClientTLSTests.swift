import Foundation
import TestSupport
import Testing

@testable import CornerstoreHTTPClient

@Suite("TLS of the app's HTTP client", .timeLimit(.minutes(1)))
struct HTTPClientTLSTests {
    @Test func `only a trusted certificate for the host is accepted`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let body = Data(Array(repeating: Array("0123456789abc".utf8), count: 200_000).joined())
            try body.write(to: directory.url.appending(path: "file"))
            try await OpenSSLServer.with(in: directory, ["-WWW"]) { server async throws in
                func failure(_ client: HTTPClient, _ host: String) async -> HTTPClientError? {
                    await CornerstoreHTTPClientTests.failure { () throws(HTTPClientError) in
                        let response = try await client.send(HTTPRequest("GET", "https://\(host):\(server.port)/file"))
                        let received = try await response.collect(upTo: body.count)
                        #expect(Data(received) == body)
                    }
                }
                let client = HTTPClient(authorities: server.certificate)
                #expect(await failure(client, "127.0.0.1") == nil)
                #expect(await failure(client, "localhost") == .tlsFailed)
                #expect(await failure(.shared, "127.0.0.1") == .tlsFailed)
                #expect(await failure(client, "127.0.0.1") == nil)
            }
        }
    }

    @Test func `a server without TLS has no secure connection`() async throws {
        let server = try RawServer { connection, _ in
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            connection.waitForEnd()
        }
        defer { server.close() }
        let error = await failure { () throws(HTTPClientError) in
            _ = try await HTTPClient.shared.text("https://127.0.0.1:\(server.port)/")
        }
        #expect(error == .tlsFailed)
    }
}
