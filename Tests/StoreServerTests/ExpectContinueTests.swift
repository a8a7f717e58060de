import TestSupport
import Testing

/// RFC 9110, section 10.1.1.
@Suite("Clients that ask before they send a body", .timeLimit(.minutes(1)))
struct ExpectContinueTests {
    /// What comes before the body is sent, and after; nil where the server does not ask for it, `closed` where it ends
    /// the connection instead.
    private func ask(
        _ server: RunningServer, head: String, body: String, isSentUnasked: Bool = false
    ) async throws -> (String, String?) {
        let port = server.port(server.addresses.sandbox)
        return try await RawConnection.run {
            let connection = try RawConnection(port: port)
            connection.write(head)
            if isSentUnasked { connection.write(body) }
            let first = connection.read()
            guard first.hasPrefix("HTTP/1.1 100 ") else {
                // To its end, which is not long in coming.
                guard first.lowercased().contains("\r\nconnection: close\r\n") else { return (first, nil) }
                _ = connection.readToEnd()
                return (first, connection.isAtEnd ? "closed" : "still open")
            }
            connection.write(body)
            return (first, connection.read(until: "}"))
        }
    }

    @Test(arguments: ["Expect: 100-continue", "expect: 100-Continue"])
    func aBodyIsAskedFor(expectation: String) async throws {
        try await withServer { server in
            let head = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\n\(expectation)\r\nContent-Length: 2\r\n\r\n"
            let (first, second) = try await ask(server, head: head, body: "{}")
            #expect(first == "HTTP/1.1 100 Continue\r\n\r\n")
            #expect(second?.hasPrefix("HTTP/1.1 200 OK\r\n") == true && second?.contains(#""status":21002"#) == true)
        }
    }

    @Test func aBodyOverTheLimitIsNotAskedForAndEndsTheConnection() async throws {
        try await withServer { server in
            let head =
                "POST /device/v1/session HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 999999999\r\n\r\n"
            let (first, second) = try await ask(server, head: head, body: "")
            #expect(first.hasPrefix("HTTP/1.1 413 ") && second == "closed")
        }
    }

    @Test(arguments: ["", "Connection: keep-alive\r\n"])
    func whoSpeaksHTTP10IsNotTold(field: String) async throws {
        try await withServer { server in
            let head = "POST /verifyReceipt HTTP/1.0\r\n\(field)Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            let (first, second) = try await ask(server, head: head, body: "{}", isSentUnasked: true)
            #expect(first.hasPrefix("HTTP/1.1 200 ") && second == (field.isEmpty ? "closed" : nil))
        }
    }
}
