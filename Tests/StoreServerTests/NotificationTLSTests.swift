import Foundation
import Glibc
import Store
import TestSupport
import Testing

@testable import CornerstoreHTTPClient
@testable import StoreServer

private struct NoRequest: Error { var reason: String }

extension OpenSSLServer {
    /// Waits for a request that ends with a text, and answers it with 200. Returns what came.
    fileprivate func answer(after end: String) async throws -> String {
        let (source, target) = (output.fileDescriptor, input.fileDescriptor)
        return try await RawConnection.run {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while !String(decoding: bytes, as: UTF8.self).contains(end) {
                let count = read(source, &buffer, buffer.count)
                guard count > 0 else { throw NoRequest(reason: "the request did not come") }
                bytes += buffer[..<count]
            }
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
            guard write(target, answer, answer.count) == answer.count else {
                throw NoRequest(reason: "openssl does not read")
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

@Suite("A receiver of notifications with TLS", .timeLimit(.minutes(1))) struct NotificationTLSTests {
    @Test func onlyATrustedCertificateIsTaken() async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await OpenSSLServer.with(in: directory) { server async throws in
                let receiver = try NotificationReceiver(
                    url: "https://127.0.0.1:\(server.port)/hook", redirectOrigins: [])
                let body = #"{"signedPayload":"e30.e30.e30"}"#
                #expect(await NotificationPost().send(body: body, to: receiver) == .tlsIssue)

                let post = NotificationPost(client: HTTPClient(authorities: server.certificate))
                async let result = post.send(body: body, to: receiver)
                let request = try await server.answer(after: body)
                #expect(request.contains("POST /hook HTTP/1.1\r\n"))
                let word = await result
                #expect(word == .success)

                // The certificate is for the address, not for the name.
                let named = try NotificationReceiver(url: "https://localhost:\(server.port)/hook", redirectOrigins: [])
                #expect(await post.send(body: body, to: named) == .tlsIssue)
            }
        }
    }
}
