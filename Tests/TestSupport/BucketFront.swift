import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Stands before the S3 server and does what that one leaves out: it refuses presigned addresses that have expired,
/// which moto never looks at, and breaks answers off.
public final class BucketFront: Sendable {
    /// What happens with one download by a presigned address.
    public enum Event: Sendable {
        /// It comes so many seconds later by the bucket's clock.
        case later(TimeInterval)
        /// Sends so many bytes and then nothing, until the client leaves.
        case silent(after: Int)
        /// This is done before it is answered.
        case first(@Sendable () async throws -> Void)
    }

    /// A download by a presigned address.
    public struct Download: Sendable {
        /// `Range`; `-` when there was none.
        public var range: String
        /// The HTTP status of the answer.
        public var status: Int
    }

    /// Where it is.
    public let address: String
    private let server: String
    private let events = Mutex<[Event]>([])
    private let answered = Mutex<[Download]>([])

    private init(address: String, server: String) {
        self.address = address
        self.server = server
    }

    /// Runs one before the S3 server of this test run.
    /// - Throws: ``S3Server/MissingServer``.
    public static func with(_ body: @escaping @Sendable (BucketFront) async throws -> Void) async throws {
        guard let server = S3Server.address else { throw S3Server.MissingServer() }
        let front = Mutex<BucketFront?>(nil)
        let router = Router()
        for method in [HTTPRequest.Method.get, .head, .put, .delete] {
            router.on("**", method: method) { request, _ in
                guard let front = front.withLock({ $0 }) else { return Response(status: .serviceUnavailable) }
                return try await front.answer(request)
            }
        }
        try await LoopbackServer.with(router) { url in
            var address = url.absoluteString
            if address.hasSuffix("/") { address.removeLast() }
            let made = BucketFront(address: address, server: server)
            front.withLock { $0 = made }
            try await body(made)
        }
    }

    /// What happens with the next downloads, one each.
    public func expect(_ next: Event...) { events.withLock { $0 += next } }

    /// The downloads so far.
    public var downloads: [Download] { answered.withLock { $0 } }

    private func answer(_ request: Request) async throws -> Response {
        let signed = request.uri.queryParameters["X-Amz-Signature"] != nil
        let event = signed ? events.withLock { $0.isEmpty ? nil : $0.removeFirst() } : nil
        if case .first(let body) = event { try await body() }
        var ahead: TimeInterval = 0
        if case .later(let seconds) = event { ahead = seconds }
        let response: Response
        if signed, isExpired(request, Date().addingTimeInterval(ahead)) {
            let text = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
            response = Response(
                status: .forbidden, headers: [.contentType: "application/xml"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        } else {
            response = try await forward(request, event)
        }
        if signed {
            let download = Download(range: request.headers[.range] ?? "-", status: response.status.code)
            answered.withLock { $0.append(download) }
        }
        return response
    }

    /// As a bucket decides it: by the time of the signature and for how long it is good.
    private func isExpired(_ request: Request, _ now: Date) -> Bool {
        let query = request.uri.queryParameters
        guard let time = query["X-Amz-Date"],
            let match = time.wholeMatch(of: /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/),
            let date = try? Date(
                "\(match.1)-\(match.2)-\(match.3)T\(match.4):\(match.5):\(match.6)Z", strategy: .iso8601),
            let seconds = query["X-Amz-Expires"].flatMap({ TimeInterval($0) })
        else { return true }
        return date.addingTimeInterval(seconds) < now
    }

    private func forward(_ request: Request, _ event: Event?) async throws -> Response {
        var asked = HTTPClientRequest(url: server + request.uri.string)
        asked.method = .init(rawValue: request.method.rawValue)
        for field in request.headers where ![.contentLength, .connection].contains(field.name) {
            asked.headers.add(name: field.name.rawName, value: field.value)
        }
        if request.method == .put { asked.body = .bytes(try await request.body.collect(upTo: 16 << 20)) }
        let answer = try await HTTPClient.shared.execute(asked, timeout: .seconds(60))
        let bytes = try await answer.body.collect(upTo: 16 << 20)
        var headers = HTTPFields()
        for name in ["ETag", "Content-Range", "Content-Type", "Last-Modified"] {
            guard let value = answer.headers.first(name: name), let field = HTTPField.Name(name) else { continue }
            headers[field] = value
        }
        let status = HTTPResponse.Status(code: Int(answer.status.code))
        if request.method == .head {
            headers[.contentLength] = answer.headers.first(name: "Content-Length")
            return Response(status: status, headers: headers)
        }
        guard case .silent(let count) = event else {
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
        }
        let head = bytes.getSlice(at: bytes.readerIndex, length: min(count, bytes.readableBytes)) ?? ByteBuffer()
        return Response(
            status: status, headers: headers,
            body: ResponseBody(contentLength: bytes.readableBytes) { writer in
                try await writer.write(head)
                // Nothing is written, so only who goes on reading learns that the client has left.
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    let (silence, end) = AsyncStream.makeStream(of: Void.self)
                    for await _ in silence {}
                    withExtendedLifetime(end) {}
                }
                throw CancellationError()
            })
    }
}
