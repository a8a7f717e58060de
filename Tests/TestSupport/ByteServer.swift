import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Serves files over HTTP on a free port, as well or as badly as it is told.
public final class ByteServer: Sendable {
    /// What goes wrong with one answer.
    public enum Trouble: Sendable, Equatable {
        case status(Int)
        /// Ends the connection after so many bytes of the answer.
        case cut(after: Int)
        /// Ignores `Range`.
        case wholeAlways
        /// Says this length.
        case saysLength(Int)
        /// Answers with a range that was not asked for.
        case otherRange
        /// Sends so many bytes, without saying how many.
        case unsaid(Int)
        /// Sends so many bytes and then nothing, until ``ByteServer/release()`` or the client leaves.
        case silent(after: Int)
    }

    /// What the server offers, what goes wrong next, and what clients asked for.
    public struct State: Sendable {
        /// By name.
        public var files: [String: [UInt8]] = [:]
        /// The `ETag` of every answer; nil for none.
        public var entityTag: String? = "\"one\""
        /// What goes wrong next, one for each answer.
        public var troubles: [Trouble] = []
        /// `Range` of each request; `-` when there was none.
        public var ranges: [String] = []
        /// How many answers are under way now, and were at most.
        public var running = 0
        /// The largest number of answers that were under way at the same time. An answer is over before its last 64 KiB
        /// are sent, so a shorter one counts only during its silence (``Trouble/silent(after:)``).
        public var mostRunning = 0
        var isReleased = false
        var waiters: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())

    /// Creates a server of these files, by name.
    public init(_ files: [String: [UInt8]] = [:]) { change { $0.files = files } }

    /// Reads or changes the state under its lock.
    public func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
    /// `Range` of each request so far; `-` for a request without one.
    public var ranges: [String] { change { $0.ranges } }
    /// Adds to what goes wrong next, one for each answer.
    public func trouble(_ troubles: Trouble...) { change { $0.troubles += troubles } }

    /// Lets silent answers go on, from now on all.
    public func release() {
        let waiters = change { state in
            state.isReleased = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.finish() }
    }

    private struct Cut: Error {}

    /// Runs it for as long as `body` does, which is given the address below which the files are.
    public func run(_ body: @escaping @Sendable (URL) async throws -> Void) async throws {
        let router = Router()
        router.get(":name") { request, context in
            try self.answer(request, try context.parameters.require("name"))
        }
        try await LoopbackServer.with(router, body)
    }

    private func answer(_ request: Request, _ name: String) throws -> Response {
        let range = request.headers[.range]
        let (state, trouble) = change { state in
            state.ranges.append(range ?? "-")
            return (state, state.troubles.isEmpty ? nil : state.troubles.removeFirst())
        }
        if case .status(let code) = trouble { return Response(status: .init(code: code)) }
        guard let bytes = state.files[name] else { return Response(status: .notFound) }
        var start = 0
        if trouble != .wholeAlways, let range, state.entityTag != nil, request.headers[.ifRange] == state.entityTag {
            start = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
        }
        var headers = HTTPFields()
        if let tag = state.entityTag { headers[.eTag] = tag }
        guard start <= bytes.count else { return Response(status: .rangeNotSatisfiable, headers: headers) }
        var part = Array(bytes[start...])
        if start > 0 {
            let from = trouble == .otherRange ? start - 1 : start
            headers[.contentRange] = "bytes \(from)-\(bytes.count - 1)/\(bytes.count)"
        }
        var length: Int? = part.count
        switch trouble {
        case .saysLength(let said): length = said
        case .unsaid(let count):
            length = nil
            part = Array((part + Array(repeating: 0, count: max(0, count - part.count))).prefix(count))
        default: break
        }
        let sent = part
        return Response(
            status: start > 0 ? .partialContent : .ok, headers: headers,
            body: ResponseBody(contentLength: length) { writer in
                self.change { state in
                    state.running += 1
                    state.mostRunning = max(state.mostRunning, state.running)
                }
                var isRunning = true
                func end() {
                    if isRunning { self.change { $0.running -= 1 } }
                    isRunning = false
                }
                defer { end() }
                var first = 0
                switch trouble {
                case .cut(let after):
                    try await writer.write(ByteBuffer(bytes: sent.prefix(after)))
                    throw Cut()
                case .silent(let after):
                    first = min(after, sent.count)
                    try await writer.write(ByteBuffer(bytes: sent.prefix(first)))
                    // Nothing is written, so only who goes on reading learns that the client has left.
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        await self.silence()
                        try Task.checkCancellation()
                    }
                default: break
                }
                for piece in stride(from: first, to: sent.count, by: 65_536) {
                    // The client may ask for the next file as soon as it has the last bytes of this one.
                    if piece + 65_536 >= sent.count { end() }
                    try await writer.write(ByteBuffer(bytes: sent[piece..<min(piece + 65_536, sent.count)]))
                }
                try await writer.finish(nil)
            })
    }

    private func silence() async {
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        let isReleased = change { state in
            if !state.isReleased { state.waiters.append(end) }
            return state.isReleased
        }
        if isReleased { end.finish() }
        for await _ in silence {}
    }
}
