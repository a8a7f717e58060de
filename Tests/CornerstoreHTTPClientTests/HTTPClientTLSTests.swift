import Foundation
import TestSupport
import Testing

@testable import CornerstoreHTTPClient

/// An HTTPS server with a certificate of its own: `openssl s_server`, which serves the files of a folder.
private final class TLSServer {
    private struct Failure: Error { var reason: String }

    let certificate: String
    let port: Int
    private let process = Process()

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

        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments =
            ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", directory.path("key.pem"), "-WWW"]
        process.currentDirectoryURL = directory.url
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
}

@Suite("TLS of the app's HTTP client", .timeLimit(.minutes(1)))
struct HTTPClientTLSTests {
    @Test func `only a trusted certificate for the host is accepted`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let body = Data(Array(repeating: Array("0123456789abc".utf8), count: 200_000).joined())
            try body.write(to: directory.url.appending(path: "file"))
            let server = try TLSServer(in: directory)
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
