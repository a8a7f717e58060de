import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CornerstoreHTTPClient

@Suite("The connections of the app's HTTP client", .timeLimit(.minutes(1)))
struct HTTPClientConnectionTests {
    @Test func `requests one after another use one connection`() async throws {
        let server = try RawServer { connection, _ in connection.answerAll() }
        defer { server.close() }
        let client = HTTPClient()
        for _ in 0..<5 { #expect(try await client.text(server.url) == "hello") }
        #expect(server.connections == 1)
    }

    /// What happens to the first response, and what the client does with it.
    enum Trouble: CaseIterable {
        case refusal, cutHead, cutBody, silentHead, silentBody, tooLarge, cancelledHead, cancelledBody, dropped,
            endless,
            closedAfterwards
    }

    @Test(arguments: Trouble.allCases)
    func `after a failure, the next requests have their own answers`(trouble: Trouble) async throws {
        let (events, event) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection, number in
            guard number == 0 else { return connection.answerAll("number \(number)") }
            _ = connection.read()
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
            switch trouble {
            case .refusal: return
            case .cutHead: connection.write("HTTP/1.1 200 OK\r\nContent-")
            case .cutBody: connection.write(head + "1234")
            case .silentHead, .cancelledHead:
                event.yield()
                connection.waitForEnd()
            case .silentBody, .cancelledBody, .dropped:
                connection.write(head + "1234")
                event.yield()
                connection.waitForEnd()
            // These bytes belong to no response.
            case .tooLarge: connection.write(head + "123456789HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
            case .endless:
                connection.write("HTTP/1.1 200 OK\r\n\r\n")
                while connection.write([UInt8](repeating: 0x61, count: 1 << 16)) {}
            case .closedAfterwards:
                connection.write(head + "123456789")
                connection.endSending()
                event.yield()
            }
        }
        defer { server.close() }
        let client = HTTPClient()
        let limits = HTTPLimits(silence: .milliseconds([.silentHead, .silentBody].contains(trouble) ? 200 : 30_000))
        let request = HTTPRequest("GET", server.url, limits: limits)
        let task = Task { () async -> HTTPClientError? in
            await failure { () throws(HTTPClientError) in
                let response = try await client.send(request)
                if trouble != .dropped { _ = try await response.collect(upTo: trouble == .tooLarge ? 8 : 10) }
            }
        }
        var iterator = events.makeAsyncIterator()
        if [.cancelledHead, .cancelledBody].contains(trouble) {
            await iterator.next()
            task.cancel()
        }
        let expected: HTTPClientError? =
            switch trouble {
            case .refusal, .cutHead, .cutBody: .connectionLost
            case .silentHead, .silentBody: .timedOut
            case .tooLarge, .endless: .bodyTooLarge
            case .cancelledHead, .cancelledBody: .cancelled
            case .dropped, .closedAfterwards: nil
            }
        #expect(await task.value == expected)
        // A request before the client learns of the end would be lost.
        if trouble == .closedAfterwards { await iterator.next() }
        let first = try await client.text(server.url)
        for _ in 0..<3 { #expect(try await client.text(server.url) == first) }
        #expect(first == "number 1")
        #expect(server.connections == 2)
    }

    /// The server may have performed a request without an answer.
    @Test(arguments: ["GET", "POST"])
    func `a request is never sent twice`(method: String) async throws {
        let requests = Mutex(0)
        let server = try RawServer { connection, _ in
            while connection.read().hasSuffix("\r\n\r\n") {
                let number = requests.withLock { count in
                    count += 1
                    return count
                }
                // The second one is not answered.
                guard number != 2 else { return }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        defer { server.close() }
        let client = HTTPClient()
        let request = HTTPRequest(method, server.url)
        #expect(try await client.text(request) == "ok")
        let error = await failure { () throws(HTTPClientError) in _ = try await client.text(request) }
        #expect(error == .connectionLost)
        #expect(requests.withLock { $0 } == 2)
        #expect(try await client.text(request) == "ok")
        #expect(requests.withLock { $0 } == 3)
    }

    @Test func `200 requests run at the same time`() async throws {
        let waiting = Mutex(0)
        let everybody = DispatchGroup()
        for _ in 0..<200 { everybody.enter() }
        let server = try RawServer { connection, _ in
            let path = connection.read().split(separator: " ").dropFirst().first ?? ""
            waiting.withLock { $0 += 1 }
            everybody.leave()
            // Nobody is answered before all have asked.
            guard everybody.wait(timeout: .now() + 50) == .success else { return }
            let text = String(repeating: "\(path),", count: 1000)
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        }
        defer { server.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let url = server.url + "\(number)"
                group.addTask {
                    let text = try await HTTPClient.shared.text(url)
                    #expect(text == String(repeating: "/\(number),", count: 1000))
                }
            }
            try await group.waitForAll()
        }
        #expect(waiting.withLock { $0 } == 200)
    }

    @Test func `many threads use one client`() async throws {
        let server = try RawServer { connection, _ in connection.answerAll() }
        defer { server.close() }
        let client = HTTPClient()
        let (answers, answer) = AsyncStream.makeStream(of: String?.self)
        let url = server.url
        for _ in 0..<16 {
            Thread.detachNewThread {
                for number in 0..<25 {
                    let done = DispatchSemaphore(value: 0)
                    let task = Task.detached {
                        let text = try? await client.text(url)
                        // Some give up.
                        answer.yield(number % 5 == 0 ? "hello" : text)
                        done.signal()
                    }
                    if number % 5 == 0 { task.cancel() }
                    done.wait()
                }
            }
        }
        var count = 0
        for await text in answers {
            #expect(text == "hello")
            count += 1
            if count == 16 * 25 { break }
        }
    }

    @Test func `a response outlives its client, and the client its responses`() async throws {
        let (events, event) = AsyncStream.makeStream(of: String.self)
        let isGoing = DispatchSemaphore(value: 0)
        let server = try RawServer { connection, _ in
            _ = connection.read()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234")
            isGoing.wait()
            connection.write("56789")
            connection.waitForEnd()
            event.yield("closed")
        }
        defer { server.close() }
        var client: HTTPClient? = HTTPClient()
        let response = try await #require(client).send(HTTPRequest("GET", server.url))
        weak let former = client
        client = nil
        #expect(former == nil)
        isGoing.signal()
        #expect(try await response.collect(upTo: 9) == Array("123456789".utf8))
        // The client's thread closes the idle connection at its end.
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "closed")
    }
}
