import AsyncHTTPClient
import Foundation
import NIOCore

/// Sends one of the load's requests alone, to get the size of its answer.
enum OneRequest {
    /// The bytes of a request's body.
    static func bodyBytes(of request: ByteBuffer) -> Int { parts(request).body.count }

    /// The size of the answer's body in bytes.
    static func answerBytes(port: Int, request: ByteBuffer) async throws -> Int {
        try await answer(port: port, request: request).count
    }

    /// The answer's body.
    static func answer(port: Int, request: ByteBuffer) async throws -> [UInt8] {
        let (method, path, headers, body) = parts(request)
        var asked = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        asked.method = .init(rawValue: method)
        for (name, value) in headers where !["host", "content-length"].contains(name.lowercased()) {
            asked.headers.add(name: name, value: value)
        }
        if !body.isEmpty { asked.body = .bytes(ByteBuffer(bytes: body)) }
        let answer = try await HTTPClient.shared.execute(asked, timeout: .seconds(10))
        let bytes = try await answer.body.collect(upTo: 64 << 20)
        guard answer.status == .ok else {
            throw BenchmarkError("\(path) answered \(answer.status.code): \(String(buffer: bytes).prefix(200))")
        }
        return Array(bytes.readableBytesView)
    }

    private static func parts(_ request: ByteBuffer)
        -> (method: String, path: String, headers: [(String, String)], body: [UInt8])
    {
        // The body need not be text.
        let bytes = Array(request.readableBytesView)
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return ("GET", "/", [], []) }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let start = lines.first?.split(separator: " ").map(String.init) ?? []
        let headers = lines.dropFirst().compactMap { line -> (String, String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
        return (start.first ?? "GET", start.count > 1 ? start[1] : "/", headers, Array(bytes[end.upperBound...]))
    }
}
