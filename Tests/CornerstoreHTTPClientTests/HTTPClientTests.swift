import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CornerstoreHTTPClient

/// Runs `body`; the error when it throws one.
func failure(_ body: () async throws(HTTPClientError) -> Void) async -> HTTPClientError? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}

extension HTTPClient {
    /// Sends a request and reads the whole body as text.
    func text(_ request: HTTPRequest) async throws(HTTPClientError) -> String {
        String(decoding: try await send(request).collect(upTo: 1 << 20), as: UTF8.self)
    }

    func text(_ url: String) async throws(HTTPClientError) -> String { try await text(HTTPRequest("GET", url)) }
}

extension RawConnection {
    /// Answers each request on the connection with a text.
    func answerAll(_ text: String = "hello") {
        while read().hasSuffix("\r\n\r\n") {
            write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        }
    }

    /// Sends nothing until the client has closed the connection.
    func waitForEnd() { _ = readToEnd() }
}

@Suite("The app's HTTP client", .timeLimit(.minutes(1)))
struct HTTPClientTests {
    /// Answers every request with these bytes and ends the connection.
    static func server(answering bytes: String) throws -> RawServer {
        try RawServer { connection, _ in
            _ = connection.read()
            connection.write(bytes)
        }
    }

    @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
    func `a request has only the fields that are necessary`(method: String) async throws {
        let seen = Mutex("")
        let server = try RawServer { connection, _ in
            let text = connection.read()
            seen.withLock { $0 = text }
            connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        }
        defer { server.close() }
        var request = HTTPRequest(method, server.url + "a/../b%2F?c=%20d")
        request.add("Authorization", "Bearer token")
        request.add("X-Empty", "")
        #expect(try await HTTPClient.shared.text(request).isEmpty)
        let length = ["GET", "DELETE"].contains(method) ? "" : "Content-Length: 0\r\n"
        #expect(
            seen.withLock { $0 }
                == "\(method) /a/../b%2F?c=%20d HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"
                + "Authorization: Bearer token\r\nX-Empty:\r\n\(length)\r\n")
    }

    @Test(arguments: [0, 1, 3 << 20])
    func `a body arrives completely, at once`(size: Int) async throws {
        let seen = Mutex((head: "", count: 0))
        let server = try RawServer { connection, _ in
            var head = connection.read()
            let end = head.firstRange(of: "\r\n\r\n")?.upperBound ?? head.endIndex
            let rest = head[end...].utf8.count
            head = String(head[..<end])
            let count = rest + connection.read(size - rest)
            seen.withLock { [head] in $0 = (head, count) }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        defer { server.close() }
        var request = HTTPRequest("POST", server.url)
        request.add("Content-Type", "application/json")
        request.body = Data(repeating: 0x61, count: size)
        #expect(try await HTTPClient.shared.text(request) == "ok")
        let (head, count) = seen.withLock { $0 }
        #expect(count == size)
        #expect(head.contains("Content-Type: application/json\r\nContent-Length: \(size)\r\n"))
        // A request with this field would wait for the server's consent.
        #expect(!head.contains("Expect"))
    }

    @Test func `a response is read as the server wrote it`() async throws {
        let server = try Self.server(
            answering:
                "HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\nHTTP/1.1 418 Teapot: short\r\nETag:  \"a: b\" \r\n"
                + "X-Folded: 1\r\n  \r\n : 2\r\nX-Empty:\r\nx-twice: 1\r\nX-Twice: 2\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-Trailer: late\r\n\r\n")
        defer { server.close() }
        let response = try await HTTPClient.shared.send(HTTPRequest("GET", server.url))
        #expect(response.status == 418)
        #expect(response.first("etag") == "\"a: b\"")
        #expect(response.first("X-EMPTY") == "")
        #expect(response.first("X-Twice") == "1")
        #expect(response.first("Link") == nil)
        #expect(response.first("X-Folded")?.hasPrefix("1") == true)
        #expect(response.fields.count == 7)
        #expect(try await response.collect(upTo: 7) == Array("abcdefg".utf8))
        #expect(try await response.next() == nil)
        #expect(response.first("X-Trailer") == nil)
    }

    @Test func `a body without a length ends with the connection`() async throws {
        let server = try Self.server(answering: "HTTP/1.1 200 OK\r\n\r\nuntil the end")
        defer { server.close() }
        #expect(try await HTTPClient.shared.text(server.url) == "until the end")
    }

    @Test(arguments: [
        "", "HTTP", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
    ])
    func `a head that is cut short is no response`(head: String) async throws {
        let server = try Self.server(answering: head)
        defer { server.close() }
        let error = await failure { () throws(HTTPClientError) in
            _ = try await HTTPClient.shared.send(HTTPRequest("GET", server.url))
        }
        #expect(error == .connectionLost)
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\nabcde", "Transfer-Encoding: chunked\r\n\r\na\r\nabcde",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
    ])
    func `a body that is cut short is an error after its bytes`(rest: String) async throws {
        let server = try Self.server(answering: "HTTP/1.1 200 OK\r\n\(rest)")
        defer { server.close() }
        let response = try await HTTPClient.shared.send(HTTPRequest("GET", server.url))
        var bytes: [UInt8] = []
        let error = await failure { () throws(HTTPClientError) in
            while let more = try await response.next() { bytes += more }
        }
        #expect(error == .connectionLost)
        #expect(bytes == Array("abcde".utf8))
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "hello, there is no head here\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 70_000))\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 20_000) + "\r\n",
        String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 5000),
    ])
    func `a head that is not HTTP or too large is refused`(head: String) async throws {
        let server = try Self.server(answering: head)
        defer { server.close() }
        let error = await failure { () throws(HTTPClientError) in
            _ = try await HTTPClient.shared.send(HTTPRequest("GET", server.url))
        }
        #expect(error == .malformedResponse)
    }

    @Test func `redirections are not followed`() async throws {
        let other = try RawServer { connection, _ in connection.answerAll() }
        let server = try Self.server(
            answering: "HTTP/1.1 302 Found\r\nLocation: \(other.url)\r\nContent-Length: 4\r\n\r\nmove")
        defer {
            server.close()
            other.close()
        }
        let response = try await HTTPClient.shared.send(HTTPRequest("GET", server.url))
        #expect(response.status == 302)
        #expect(try await response.collect(upTo: 4) == Array("move".utf8))
        #expect(other.connections == 0)
    }

    @Test(arguments: [
        "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "127.0.0.1", "", "http", ":", "nonsense",
        "http://user:password@127.0.0.1:PORT/", "http://user@127.0.0.1:PORT/", "http://", "http:///path",
        "http://127.0.0.1:PORT/a b", "http://127.0.0.1:PORT/\r\nX: y", "http://127.0.0.1:99999/",
        "http://127.0.0.1:PORT/\u{0}", "http://127.0.0.1:PORT/\u{7F}",
    ])
    func `other addresses are refused without a connection`(address: String) async throws {
        let server = try RawServer { connection, _ in connection.answerAll() }
        defer { server.close() }
        let url = address.replacing("PORT", with: "\(server.port)")
        let error = await failure { () throws(HTTPClientError) in _ = try await HTTPClient.shared.text(url) }
        #expect(error == .invalidRequest)
        #expect(server.connections == 0)
    }

    @Test(arguments: [
        ("X", "a\r\nY: b"), ("X", "a\nb"), ("X", "a\rb"), ("X", "a\u{0}b"), ("X", "\u{7F}"), ("X: y\r\nZ", "b"),
        ("", "a"), ("X Y", "a"), ("X:", "a"), ("Ü", "a"), ("X", String(repeating: "a", count: 70_000)),
    ])
    func `fields that would end early are refused`(name: String, value: String) async throws {
        let server = try RawServer { connection, _ in connection.answerAll() }
        defer { server.close() }
        var request = HTTPRequest("GET", server.url)
        request.add(name, value)
        let error = await failure { [request] () throws(HTTPClientError) in
            _ = try await HTTPClient.shared.text(request)
        }
        #expect(error == .invalidRequest)
        #expect(server.connections == 0)
    }

    @Test(arguments: ["", "get", "GET / HTTP/1.1\r\nX:", "HEAD", "GE T"])
    func `other methods are refused`(method: String) async throws {
        let error = await failure { () throws(HTTPClientError) in
            _ = try await HTTPClient.shared.text(HTTPRequest(method, "http://127.0.0.1:1/"))
        }
        #expect(error == .invalidRequest)
    }

    @Test func `a port without a server cannot be connected to`() async throws {
        let error = await failure { () throws(HTTPClientError) in
            _ = try await HTTPClient.shared.text("http://127.0.0.1:1/")
        }
        #expect(error == .cannotConnect)
    }

    @Test func `a body may have the announced limit and not more`() async throws {
        let server = try RawServer { connection, _ in connection.answerAll("hello") }
        let endless = try RawServer { connection, _ in
            _ = connection.read()
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            while connection.write([UInt8](repeating: 0x61, count: 1 << 16)) {}
        }
        defer {
            server.close()
            endless.close()
        }
        let body = try await HTTPClient.shared.send(HTTPRequest("GET", server.url)).collect(upTo: 5)
        #expect(body == Array("hello".utf8))
        for (url, limit) in [(server.url, 4), (endless.url, 10 << 20)] {
            let response = try await HTTPClient.shared.send(HTTPRequest("GET", url))
            let error = await failure { () throws(HTTPClientError) in _ = try await response.collect(upTo: limit) }
            #expect(error == .bodyTooLarge)
        }
    }
}
