import Foundation
import Glibc
import Store
import TestSupport
import Testing

@testable import CornerstoreHTTPClient
@testable import StoreServer

/// A server that receives notifications over TLS, with a certificate of its own: `openssl s_server`, which writes what
/// it receives and sends what it reads.
private final class TLSReceiver {
    private struct Failure: Error { var reason: String }

    /// The file of the certificate.
    let certificate: String
    let port: Int
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    init(in directory: TemporaryDirectory) throws {
        certificate = directory.path("certificate.pem")
        let making = Process()
        making.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        making.arguments =
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test"]
            + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", directory.path("key.pem"), "-out", certificate]
        making.standardError = FileHandle.nullDevice
        try making.run()
        making.waitUntilExit()
        guard making.terminationStatus == 0 else { throw Failure(reason: "openssl made no certificate") }

        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments =
            ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", directory.path("key.pem")]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // "ACCEPT 127.0.0.1:39441"
        var text = ""
        while !text.contains(/ACCEPT \S+:(\d+)\n/) {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw Failure(reason: "openssl does not listen: \(text)") }
            text += String(decoding: more, as: UTF8.self)
        }
        guard let match = text.firstMatch(of: /ACCEPT \S+:(\d+)\n/), let port = Int(match.1) else {
            throw Failure(reason: "openssl does not say its port: \(text)")
        }
        self.port = port
    }

    deinit { process.terminate() }

    /// Waits for a request that ends with a text, and answers it with 200. Returns what came.
    func answer(after end: String) async throws -> String {
        let (source, target) = (output.fileHandleForReading.fileDescriptor, input.fileHandleForWriting.fileDescriptor)
        return try await RawConnection.run {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while !String(decoding: bytes, as: UTF8.self).contains(end) {
                let count = read(source, &buffer, buffer.count)
                guard count > 0 else { throw Failure(reason: "the request did not come") }
                bytes += buffer[..<count]
            }
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
            guard write(target, answer, answer.count) == answer.count else {
                throw Failure(reason: "openssl does not read")
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

@Suite("A receiver of notifications with TLS", .timeLimit(.minutes(1))) struct NotificationTLSTests {
    @Test func onlyATrustedCertificateIsTaken() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let server = try TLSReceiver(in: directory)
            let receiver = try NotificationReceiver(url: "https://127.0.0.1:\(server.port)/hook", redirectOrigins: [])
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
