import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension Request {
    /// How long a body may take to arrive; a client that sends one byte at a time is cut off then.
    public static var bodyTimeout: Duration { .seconds(30) }

    /// The whole body, if it is there within ``bodyTimeout``.
    /// - Throws: ``HTTPProblem`` 413 over the limit, 408 when it takes too long.
    public func boundedBody(upTo limit: Int) async throws -> ByteBuffer {
        try await boundedBody(upTo: limit, within: Self.bodyTimeout)
    }

    /// The whole body.
    /// - Parameters:
    ///   - limit: in bytes.
    ///   - timeout: from the first part on. A client that does not begin is closed as idle.
    /// - Throws: ``HTTPProblem`` 413 over the limit, 408 when it takes longer.
    public func boundedBody(upTo limit: Int, within timeout: Duration) async throws -> ByteBuffer {
        let tooLarge = HTTPProblem(
            .contentTooLarge, code: "too_large", message: "The body may have at most \(limit) bytes.")
        if let announced = headers[.contentLength].flatMap({ Int($0) }), announced > limit { throw tooLarge }
        var whole = ByteBuffer()
        var deadline: ContinuousClock.Instant?
        var parts = body.makeAsyncIterator()
        while var part = try await Self.next(&parts) {
            guard whole.readableBytes + part.readableBytes <= limit else { throw tooLarge }
            if whole.readableBytes == 0 { whole = part } else { whole.writeBuffer(&part) }
            // Most bodies come in one part, for which the clock need not be read.
            if let deadline {
                guard ContinuousClock.now < deadline else {
                    throw HTTPProblem(.requestTimeout, code: "timeout", message: "The body took too long to arrive.")
                }
            } else {
                deadline = .now + timeout
            }
        }
        return whole
    }

    private static func next(_ parts: inout RequestBody.AsyncIterator) async throws -> ByteBuffer? {
        do {
            return try await parts.next()
        } catch {
            throw HTTPProblem(
                .badRequest, code: "invalid_request", message: "The body is malformed, or ended too early.")
        }
    }

    /// The body as a JSON document of a type.
    /// - Throws: ``HTTPProblem`` 400 that names the key that is wrong, 413, or 408.
    public func decodeJSON<Value: Decodable>(_ type: Value.Type, upTo limit: Int) async throws -> Value {
        try await boundedBody(upTo: limit).decodedJSON(type)
    }
}

extension ByteBuffer {
    /// The bytes as a JSON document of a type.
    /// - Throws: ``HTTPProblem`` 400 that names the key that is wrong.
    public func decodedJSON<Value: Decodable>(_ type: Value.Type) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(readableBytesView))
        } catch let error as DecodingError {
            throw HTTPProblem(.badRequest, code: "invalid_request", message: error.sentence)
        }
    }
}

extension DecodingError {
    /// What was wrong and where, without the values.
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
    /// A JSON document, keys sorted so that the same value is the same bytes.
    public static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(value)
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension Request {
    /// The token of `Authorization: Bearer`, nil when there is none.
    public var bearerToken: Substring? {
        guard let value = headers[.authorization], value.prefix(7).lowercased() == "bearer " else { return nil }
        return value.dropFirst(7)
    }
}
