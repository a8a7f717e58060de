import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TestSupport
import Testing

@testable import HTTPSupport

/// The bounds as clients meet them.
@Suite(.timeLimit(.minutes(1))) struct BoundedServerTests {
    private struct Context: ConnectionRequestContext {
        var coreContext: CoreRequestContextStorage
        let channel: any Channel

        init(source: ApplicationRequestContextSource) {
            coreContext = .init(source: source)
            channel = source.channel
        }
    }

    private func router() -> Router<Context> {
        let router = Router(context: Context.self)
        router.add(middleware: ProblemMiddleware { _ in nil })
        router.post("/whole") { request, _ in
            let body = try await request.boundedBody(upTo: 8 << 20)
            return "\(body.readableBytes) bytes"
        }
        return router
    }

    private static func head(_ length: Int) -> String {
        "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n"
    }

    @Test func aSilentClientIsAnsweredAndClosed() async throws {
        let limits = ServerLimits(.init(bodyPatience: .milliseconds(50)))
        try await LoopbackServer.with(router(), limits: limits) { url in
            let port = UInt16(url.port ?? 0)
            for begun in ["", String(repeating: "x", count: 100_000)] {
                let (answer, rest, isAtEnd) = try await RawConnection.run {
                    let connection = try RawConnection(port: port)
                    connection.write(Self.head(6 << 20) + begun)
                    let answer = connection.read()
                    connection.endSending()
                    return (answer, connection.readToEnd(), connection.isAtEnd)
                }
                #expect(answer.hasPrefix("HTTP/1.1 408") && rest < 1_000 && isAtEnd, "\(answer)")
                #expect(answer.lowercased().contains("connection: close"))
            }
            #expect(limits.bodies.bytes == 0)
        }
    }

    @Test func aBodyThatTricklesIsCutOffHoweverMuchOfItIsStillToCome() async throws {
        try await LoopbackServer.with(router(), limits: ServerLimits(.init(bodyPatience: .milliseconds(50)))) { url in
            let port = UInt16(url.port ?? 0)
            let (answer, sent, isClosed) = try await RawConnection.run {
                let slow = try RawConnection(port: port)
                slow.write(Self.head(20_000))
                // A byte every 5 ms would take 100 s.
                var sent = 0
                while sent < 20_000, !slow.isReadable(within: 5), slow.write("x") { sent += 1 }
                let answer = slow.read()
                // The rest may go on coming for some seconds, so that it does not take the answer away.
                let end = ContinuousClock.now + .seconds(60)
                while slow.write("x"), ContinuousClock.now < end { _ = slow.isReadable(within: 1) }
                return (answer, sent, ContinuousClock.now < end)
            }
            #expect(answer.hasPrefix("HTTP/1.1 408") && sent < 20_000 && isClosed)
        }
    }

    @Test func bodiesForWhichThereIsNoRoomAreRefusedInWordsAndSmallOnesAreNot() async throws {
        let limits = ServerLimits(.init(bodyBytes: 1 << 20))
        try await LoopbackServer.with(router(), limits: limits) { url in
            let port = UInt16(url.port ?? 0)
            let holder = try await RawConnection.run {
                let holder = try RawConnection(port: port)
                holder.write(Self.head(6 << 20) + String(repeating: "x", count: 900_000))
                return Held(connection: holder)
            }
            try await until { limits.bodies.bytes >= 900_000 }
            // All of it is sent before the answer is looked at, as simple clients do.
            let (large, small) = try await RawConnection.run {
                let large = try RawConnection(port: port)
                large.write(Self.head(4 << 20) + String(repeating: "x", count: 4 << 20))
                let small = try RawConnection(port: port)
                small.write(Self.head(16 << 10) + String(repeating: "x", count: 16 << 10))
                return (large.read(), small.read(until: "bytes"))
            }
            #expect(large.hasPrefix("HTTP/1.1 503") && large.lowercased().contains("retry-after: 5"), "\(large)")
            #expect(small.hasPrefix("HTTP/1.1 200") && small.contains("16384 bytes"))
            // Who goes away makes room.
            holder.connection = nil
            try await until { limits.bodies.bytes == 0 }
            let again = try await RawConnection.run {
                let large = try RawConnection(port: port)
                large.write(Self.head(1 << 20) + String(repeating: "x", count: 1 << 20))
                return large.read(until: "bytes")
            }
            #expect(again.hasPrefix("HTTP/1.1 200") && again.contains("1048576 bytes"))
        }
    }

    @Test func workForAClientThatLeavesIsCancelled() async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Bool.self)
        let router = router()
        router.get("/long") { _, context in
            try await context.whileClientStays {
                let (silence, _) = AsyncStream.makeStream(of: Void.self)
                begin.yield()
                for await _ in silence {}
                end.yield(Task.isCancelled)
                try Task.checkCancellation()
            }
            return "done"
        }
        router.get("/short") { _, context in try await context.whileClientStays { "done" } }
        try await LoopbackServer.with(router) { url in
            let port = UInt16(url.port ?? 0)
            let held = try await RawConnection.run {
                let connection = try RawConnection(port: port)
                // The same connection served another before.
                connection.write("GET /short HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = connection.read(until: "done")
                connection.write("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
                return Held(connection: connection, answer: answer)
            }
            #expect(held.answer.hasPrefix("HTTP/1.1 200"))
            for await _ in begun { break }
            held.connection = nil
            var ends = ended.makeAsyncIterator()
            #expect(await ends.next() == true)
        }
    }

    /// The client stays and reads nothing of an answer that is larger than what the system holds for it.
    @Test func aClientThatTakesNothingOfAnAnswerIsDropped() async throws {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let router = router()
        router.get("/large") { _, context in
            context.channel.closeFuture.whenComplete { _ in end.yield() }
            return ByteBuffer(repeating: 0x20, count: 64 << 20)
        }
        let limits = ServerLimits(.init(answerPatience: .milliseconds(100)))
        try await LoopbackServer.with(router, limits: limits) { url in
            let port = UInt16(url.port ?? 0)
            let held = try await RawConnection.run {
                let connection = try RawConnection(port: port, receiving: 64 << 10)
                connection.write("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
                return Held(connection: connection)
            }
            var ends = ended.makeAsyncIterator()
            #expect(await ends.next() != nil)
            held.connection = nil
        }
    }

    /// A connection that is held open until it is let go of.
    private final class Held: @unchecked Sendable {
        var connection: RawConnection?
        let answer: String

        init(connection: RawConnection, answer: String = "") {
            self.connection = connection
            self.answer = answer
        }
    }
}
