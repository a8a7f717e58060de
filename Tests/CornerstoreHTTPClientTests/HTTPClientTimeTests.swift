import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CornerstoreHTTPClient

@Suite("The times and the flow of the app's HTTP client", .timeLimit(.minutes(1)))
struct HTTPClientTimeTests {
    /// Long enough that the suite would fail.
    static let never = HTTPLimits(connect: .seconds(3600), silence: .seconds(3600), head: .seconds(3600))

    static func limits(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
        var limits = never
        change(&limits)
        return limits
    }

    /// A port whose server does not accept, and whose queue is full: connecting to it takes forever.
    static func withFullPort(_ body: (String) async throws -> Void) async throws {
        let server = try RawServer(backlog: 0, nil)
        defer { server.close() }
        // The system queues one connection more than it is told.
        let first = try RawConnection(port: server.port)
        try await body(server.url)
        withExtendedLifetime(first) {}
    }

    /// Sends a request and reads the body; the error.
    static func failure(_ url: String, _ limits: HTTPLimits) async -> HTTPClientError? {
        await CornerstoreHTTPClientTests.failure { () throws(HTTPClientError) in
            _ = try await HTTPClient.shared.text(HTTPRequest("GET", url, limits: limits))
        }
    }

    @Test func `connecting is limited`() async throws {
        try await Self.withFullPort { url in
            #expect(await Self.failure(url, Self.limits { $0.connect = .milliseconds(100) }) == .timedOut)
        }
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234"])
    func `silence is limited`(start: String) async throws {
        let server = try RawServer { connection, _ in
            _ = connection.read()
            connection.write(start)
            connection.waitForEnd()
        }
        defer { server.close() }
        #expect(await Self.failure(server.url, Self.limits { $0.silence = .milliseconds(200) }) == .timedOut)
    }

    /// Writes a piece every few milliseconds until the client leaves.
    static func drip(_ head: String, _ piece: String) throws -> RawServer {
        try RawServer { connection, _ in
            _ = connection.read()
            connection.write(head)
            while !connection.isReadable(within: 5), connection.write(piece) {}
        }
    }

    @Test func `a head that arrives slowly is limited`() async throws {
        let server = try Self.drip("HTTP/1.1 200 OK\r\nX: ", "y")
        defer { server.close() }
        #expect(await Self.failure(server.url, Self.limits { $0.head = .milliseconds(200) }) == .timedOut)
    }

    @Test func `an exchange that lasts too long is limited`() async throws {
        let server = try Self.drip("HTTP/1.1 200 OK\r\n\r\n", "x")
        defer { server.close() }
        #expect(await Self.failure(server.url, Self.limits { $0.whole = .milliseconds(200) }) == .timedOut)
    }

    @Test func `a body that arrives slowly is not silence`() async throws {
        let server = try RawServer { connection, _ in
            _ = connection.read()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            for _ in 0..<100 where !connection.isReadable(within: 50) { connection.write("x") }
        }
        defer { server.close() }
        // All of it takes longer than each limit.
        let limits = Self.limits { ($0.silence, $0.head) = (.seconds(4), .seconds(4)) }
        let text = try await HTTPClient.shared.text(HTTPRequest("GET", server.url, limits: limits))
        #expect(text == String(repeating: "x", count: 100))
    }

    @Test func `a slow reader slows the server down`() async throws {
        // The period is no power of two: a lost or repeated portion would show.
        let pattern = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        let size = 1024 * pattern.count
        let (stalls, stall) = AsyncStream.makeStream(of: Int.self)
        let server = try RawServer { connection, _ in
            _ = connection.read()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            for number in 0..<1024 {
                // The client takes no more.
                if !connection.isWritable(within: 4000) { stall.yield(number * pattern.count) }
                guard connection.write(pattern) else { break }
            }
            stall.finish()
        }
        defer { server.close() }
        // Silence does not count while the reader is busy.
        let limits = Self.limits { $0.silence = .seconds(3) }
        let response = try await HTTPClient.shared.send(HTTPRequest("GET", server.url, limits: limits))
        var iterator = stalls.makeAsyncIterator()
        let sent = try #require(await iterator.next())
        // The rest waits in the system's buffers: 4 MiB to send and 6 MiB to receive at most.
        #expect(sent < 16 << 20)
        let expected = Array(repeating: pattern, count: 6).flatMap(\.self)
        var received = 0
        while let bytes = try await response.next() {
            try #require(bytes.count <= ResponseStream.capacity)
            let start = received % pattern.count
            let isRight = bytes == Array(expected[start..<start + bytes.count])
            try #require(isRight, "after \(received) bytes")
            received += bytes.count
        }
        #expect(received == size)
    }

    enum Place: CaseIterable { case connecting, head, body, unreadBody }

    @Test(arguments: Place.allCases)
    func `cancelling ends the exchange`(place: Place) async throws {
        let (events, event) = AsyncStream.makeStream(of: String.self)
        let server = try RawServer { connection, _ in
            _ = connection.read()
            switch place {
            case .connecting, .head: break
            case .body: connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234")
            case .unreadBody: connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
            }
            event.yield("silent")
            // More than the client and the system keep: the write ends when the client leaves.
            if place == .unreadBody { connection.write([UInt8](repeating: 0, count: 64 << 20)) }
            connection.waitForEnd()
            event.yield("closed")
        }
        defer { server.close() }
        var iterator = events.makeAsyncIterator()

        func cancel(_ url: String, isReached: () async -> Void) async throws {
            let (heads, head) = AsyncStream.makeStream(of: HTTPResponse.self)
            let task = Task { () async -> HTTPClientError? in
                await CornerstoreHTTPClientTests.failure { () throws(HTTPClientError) in
                    let response = try await HTTPClient.shared.send(HTTPRequest("GET", url, limits: Self.never))
                    head.yield(response)
                    guard place != .unreadBody else {
                        // Ends when the task is cancelled.
                        try? await Task.sleep(for: .seconds(60))
                        _ = try await response.next()
                        return
                    }
                    while try await response.next() != nil {}
                }
            }
            await isReached()
            if place == .body || place == .unreadBody {
                var iterator = heads.makeAsyncIterator()
                let response = try #require(await iterator.next())
                if place == .unreadBody { try await until { response.stream.isPaused } }
            }
            task.cancel()
            #expect(await task.value == .cancelled)
        }
        if place == .connecting {
            try await Self.withFullPort { url in try await cancel(url) {} }
        } else {
            try await cancel(server.url) { #expect(await iterator.next() == "silent") }
            #expect(await iterator.next() == "closed")
        }
    }

    @Test func `a cancelled task sends nothing more`() async throws {
        let server = try RawServer { connection, _ in connection.answerAll() }
        defer { server.close() }
        let url = server.url
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.failure(url, Self.never)
        }
        #expect(await task.value == .cancelled)
        #expect(try await HTTPClient.shared.text(url) == "hello")
        #expect(server.connections == 1)
    }
}
