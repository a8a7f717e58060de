import CornerstoreEncoding
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension Request {
    /// Reads the whole body. The connection limits how long the body may take to arrive and how much memory all bodies
    /// take (``ServerLimits``).
    /// - Parameter limit: the largest body, in bytes.
    /// - Throws: ``HTTPProblem`` 413 over the limit, 408 when the body takes too long, 503 when the server has no
    ///   memory left for bodies.
    public func boundedBody(upTo limit: Int) async throws -> ByteBuffer {
        let tooLarge = HTTPProblem(
            .contentTooLarge, code: "too_large", message: "The body must have at most \(limit) bytes.")
        if let announced = headers[.contentLength].flatMap({ Int($0) }), announced > limit { throw tooLarge }
        var whole = ByteBuffer()
        var parts = body.makeAsyncIterator()
        while var part = try await HTTPProblem.readingBody({ try await parts.next() }) {
            guard whole.readableBytes + part.readableBytes <= limit else { throw tooLarge }
            if whole.readableBytes == 0 { whole = part } else { whole.writeBuffer(&part) }
        }
        return whole
    }

    /// Decodes the body as JSON.
    /// - Throws: ``HTTPProblem`` 400 that names the wrong key, 413, 408, or 503.
    public func decodeJSON<Value: Decodable>(_ type: Value.Type, upTo limit: Int) async throws -> Value {
        try await boundedBody(upTo: limit).decodedJSON(type)
    }
}

extension HTTPProblem {
    /// Reads a piece of a body, and turns the error of a body that ends too early into a problem.
    static func readingBody<Piece>(_ read: () async throws -> Piece) async throws -> Piece {
        do {
            return try await read()
        } catch BodyRefusal.late {
            throw HTTPProblem(
                .requestTimeout, code: "timeout", message: "The body took too long to arrive. Send it faster.")
        } catch BodyRefusal.noRoom {
            var problem = HTTPProblem(
                .serviceUnavailable, code: "unavailable",
                message: "The server has no memory left for large bodies. Try again later.", retryAfter: 5)
            problem.closesConnection = true
            throw problem
        } catch {
            throw HTTPProblem(
                .badRequest, code: "invalid_request", message: "The body is malformed or incomplete.")
        }
    }
}

extension ByteBuffer {
    /// Decodes the bytes as JSON.
    /// - Throws: ``HTTPProblem`` 400 that names the wrong key.
    public func decodedJSON<Value: Decodable>(_ type: Value.Type) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(readableBytesView))
        } catch let error as DecodingError {
            throw HTTPProblem(.badRequest, code: "invalid_request", message: error.sentence)
        }
    }
}

extension DecodingError {
    /// A sentence that names the wrong key and says what is wrong with it. It contains no values.
    public var sentence: String {
        func path(_ context: Context, _ last: String? = nil) -> String {
            var place = ""
            for key in context.codingPath {
                if let index = key.intValue { place += "[\(index)]" } else { place += ".\(key.stringValue)" }
            }
            if let last { place += ".\(last)" }
            return place.isEmpty ? "The body" : "“\(place.drop { $0 == "." }.prefix(200))”"
        }
        switch self {
        case .keyNotFound(let key, let context): return "\(path(context, key.stringValue)) is missing."
        case .valueNotFound(_, let context): return "\(path(context)) is null and must not be."
        case .typeMismatch(_, let context): return "\(path(context)) is of the wrong type."
        case .dataCorrupted(let context): return "\(path(context)) is not well-formed."
        @unknown default: return "The body is not well-formed."
        }
    }
}

extension Response {
    /// Makes a response from a value, as JSON. The keys are sorted, so that equal values give equal bytes.
    /// - Throws: `EncodingError` when the value cannot be written as JSON.
    public static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let bytes = try JSONEncoder.compact.encode(value)
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension Request {
    /// The value of the last `X-Forwarded-For` field, which the proxy added.
    public var forwardedFor: String? { HTTPField.Name("X-Forwarded-For").flatMap { headers[values: $0].last } }

    /// The token of `Authorization: Bearer`; nil when the request has none.
    public var bearerToken: Substring? {
        guard let value = headers[.authorization], value.prefix(7).lowercased() == "bearer " else { return nil }
        return value.dropFirst(7)
    }
}
