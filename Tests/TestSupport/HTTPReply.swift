import AsyncHTTPClient
import Foundation
import NIOCore

/// A server's whole answer to a request.
public struct HTTPReply: Sendable {
    /// The status, such as 200.
    public var status: Int
    /// The header fields, with their names in lower case.
    public var headers: [String: String]
    /// The body, at most 16 MiB.
    public var body: [UInt8]

    /// Sends a request and reads the whole answer.
    ///
    /// - Parameter token: The bearer token; nil for none.
    public init(
        _ method: String, _ url: String, token: String? = nil, type: String = "application/json",
        headers: [(String, String)] = [], body: [UInt8]? = nil
    ) async throws {
        var request = HTTPClientRequest(url: url)
        request.method = .init(rawValue: method)
        request.headers.add(name: "Content-Type", value: type)
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(body) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        status = Int(response.status.code)
        self.headers = Dictionary(
            response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
        self.body = [UInt8](try await response.body.collect(upTo: 16 << 20).readableBytesView)
    }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
    /// The body as a JSON object; empty when it is none.
    public var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:] }
    /// The code of an error.
    public var code: String? { json["code"] as? String }

    /// The request did not succeed.
    public struct Failure: Error {
        /// The answer.
        public var reply: HTTPReply
    }

    /// Returns the answer if its status is 200 to 299.
    ///
    /// - Throws: ``Failure``.
    public func successful() throws -> HTTPReply {
        guard (200..<300).contains(status) else { throw Failure(reply: self) }
        return self
    }

    /// Decodes the body from JSON.
    public func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(body))
    }
}
