import AsyncHTTPClient
import Foundation
import NIOCore
import StoreServer
import StoreWire

/// Speaks ``ControlAPI`` to a running store.
struct ControlClient: Sendable {
    var base: String
    var adminToken: String?
    private static let answerLimit = 64 << 20

    init(base: String, adminToken: String?) {
        self.base = base
        self.adminToken = adminToken
    }

    func get<Answer: Decodable>(_ path: String, query: [(String, String?)] = [], as: Answer.Type = Answer.self)
        async throws -> Answer
    {
        try Self.decode(await send("GET", path, query: query, body: nil))
    }

    func send<Answer: Decodable>(
        _ method: String, _ path: String, _ body: (some Encodable)?, as: Answer.Type = Answer.self
    ) async throws
        -> Answer
    {
        try Self.decode(await send(method, path, body: body.map { try JSONEncoder().encode($0) }))
    }

    /// For requests whose answer has no body of interest.
    func perform(_ method: String, _ path: String, _ body: (some Encodable)?) async throws {
        _ = try await send(method, path, body: body.map { try JSONEncoder().encode($0) })
    }

    func perform(_ method: String, _ path: String) async throws {
        _ = try await send(method, path, body: nil)
    }

    /// The path of something of one environment.
    static func path(_ environment: StoreEnvironment, _ parts: String...) -> String {
        "/\(environment.name)/" + parts.map { encoded($0, keeping: pathBytes) }.joined(separator: "/")
    }

    private func send(_ method: String, _ path: String, query: [(String, String?)] = [], body: Data?) async throws
        -> Data
    {
        let pairs = query.compactMap { name, value in
            value.map { "\(name)=\(Self.encoded($0, keeping: Self.queryBytes))" }
        }
        let url = base + ControlAPI.prefix + path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
        let answer = try await PlainHTTP.send(
            method, url, body: body, headers: adminToken.map { [("Authorization", "Bearer \($0)")] } ?? [],
            limit: Self.answerLimit)
        guard (200..<300).contains(answer.status) else { throw refusal(answer) }
        return answer.body
    }

    /// Sends a body of any type, for which it waits as long as it takes.
    /// - Throws: ``CommandError`` when nobody answers.
    func exchange(
        _ method: String, _ path: String, _ body: HTTPClientRequest.Body, type: String, timeout: TimeAmount
    ) async throws -> PlainHTTP.Answer {
        try await PlainHTTP.send(
            method, base + ControlAPI.prefix + path, body: body,
            headers: [("Content-Type", type)] + (adminToken.map { [("Authorization", "Bearer \($0)")] } ?? []),
            limit: Self.answerLimit, timeout: timeout)
    }

    /// What an answer holds.
    /// - Throws: ``CommandError`` when it is a refusal.
    func decoded<Answer: Decodable>(_ answer: PlainHTTP.Answer, as: Answer.Type) throws -> Answer {
        guard (200..<300).contains(answer.status) else { throw refusal(answer) }
        return try Self.decode(answer.body)
    }

    private func refusal(_ answer: PlainHTTP.Answer) -> CommandError {
        guard let error = try? JSONDecoder().decode(WireError.self, from: answer.body) else {
            return CommandError(
                .failed, "\(base) answered HTTP \(answer.status); is it the control port of a Cornerstore?")
        }
        let hint = answer.status == 401 ? " Set CORNERSTORE_ADMIN_TOKEN." : ""
        return CommandError(.refused, Style.printable(error.message) + hint)
    }

    private static func decode<Answer: Decodable>(_ data: Data) throws -> Answer {
        do {
            return try JSONDecoder().decode(Answer.self, from: data)
        } catch {
            throw CommandError(
                .failed,
                "The control port's answer is not what this version of cornerstore knows; use the server's own.")
        }
    }

    /// RFC 3986's unreserved characters and, in a path, what else may stand there as it is.
    private static let queryBytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~@".utf8)
    private static let pathBytes = queryBytes.union("!$&'()*+,;=:".utf8)

    private static func encoded(_ text: String, keeping bytes: Set<UInt8>) -> String {
        text.utf8.map { byte in
            bytes.contains(byte)
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}

/// One HTTP request with a bound on time and on the answer.
enum PlainHTTP {
    struct Answer: Sendable {
        var status: Int
        var body: Data
    }

    /// Says at once that nobody listens, where the usual client tries again until its time is up. Lives as long as the process.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(5)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// - Throws: ``CommandError`` when nobody answers there.
    static func send(
        _ method: String, _ url: String, body: Data?, headers: [(String, String)] = [], limit: Int
    ) async throws -> Answer {
        try await send(
            method, url, body: body.map { .bytes(ByteBuffer(bytes: $0)) },
            headers: headers + (body == nil ? [] : [("Content-Type", "application/json")]), limit: limit,
            timeout: .seconds(60))
    }

    /// - Parameter timeout: until the answer begins.
    /// - Throws: ``CommandError`` when nobody answers there.
    static func send(
        _ method: String, _ url: String, body: HTTPClientRequest.Body?, headers: [(String, String)], limit: Int,
        timeout: TimeAmount
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = body
        do {
            let response = try await client.execute(request, timeout: timeout)
            let bytes = try await response.body.collect(upTo: limit)
            return Answer(status: Int(response.status.code), body: Data(bytes.readableBytesView))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let place = url.split(separator: "/").prefix(2).joined(separator: "//")
            throw CommandError(
                .failed,
                "No store answers at \(place). Start one with “cornerstore serve FILE.storekit”, or name the one meant with --data."
            )
        }
    }
}
