import AsyncHTTPClient
import ControlWire
import Foundation
import NIOCore
import StoreWire

/// A client of a running store's control port (``ControlRoute``).
struct ControlClient: Sendable {
    var base: String
    var adminToken: String?
    private static let answerLimit = 64 << 20

    init(base: String, adminToken: String?) {
        self.base = base
        self.adminToken = adminToken
    }

    /// Sends a request without a body.
    /// - Throws: ``CommandError`` when no store answers, or when it refuses the request.
    func send<Answer: Decodable>(_ route: ControlRoute, as: Answer.Type = Answer.self) async throws -> Answer {
        try Self.decode(await answer(route, nil))
    }

    /// Sends a request without a body, with a time limit of its own.
    /// - Parameter timeout: the time limit until the response begins.
    /// - Throws: ``CommandError`` when no store answers in time, or when it refuses the request.
    func send<Answer: Decodable>(_ route: ControlRoute, timeout: TimeAmount) async throws -> Answer {
        try Self.decode(await answer(route, nil, timeout: timeout))
    }

    /// Sends a request with a JSON body.
    /// - Throws: ``CommandError`` when no store answers, or when it refuses the request.
    func send<Answer: Decodable>(
        _ route: ControlRoute, _ body: some Encodable, as: Answer.Type = Answer.self
    ) async throws -> Answer {
        try Self.decode(await answer(route, try JSONEncoder().encode(body)))
    }

    /// Sends a request without a body and ignores the response's body.
    func perform(_ route: ControlRoute) async throws { _ = try await answer(route, nil) }

    /// Sends a request with a JSON body and ignores the response's body.
    func perform(_ route: ControlRoute, _ body: some Encodable) async throws {
        _ = try await answer(route, try JSONEncoder().encode(body))
    }

    private func answer(_ route: ControlRoute, _ body: Data?, timeout: TimeAmount? = nil) async throws -> Data {
        let answer = try await PlainHTTP.send(
            route.method.rawValue, url(route), body: body, headers: headers, limit: Self.answerLimit,
            timeout: timeout ?? Self.timeout(of: route))
        guard (200..<300).contains(answer.status) else { throw refusal(answer) }
        return answer.body
    }

    /// The time limit until the response begins. The store answers some requests once all of their work is done, such
    /// as the renewals of all subscriptions until the clock's new time.
    private static func timeout(of route: ControlRoute) -> TimeAmount {
        switch route {
        case .changeClock, .extendSubscriptions, .managed(.importCatalog): .hours(24)
        default: .seconds(60)
        }
    }

    /// Sends a body of any type.
    /// - Parameter timeout: the time limit until the response begins.
    /// - Throws: ``CommandError`` when no store answers.
    func exchange(
        _ route: ControlRoute, _ body: HTTPClientRequest.Body, type: String, timeout: TimeAmount
    ) async throws -> PlainHTTP.Answer {
        try await PlainHTTP.send(
            route.method.rawValue, url(route), body: body,
            headers: [("Content-Type", type)] + headers,
            limit: Self.answerLimit, timeout: timeout)
    }

    /// The server's router skips empty parts of a path, so a request that removes one rule would remove all.
    private func url(_ route: ControlRoute) throws -> String {
        let path = route.path
        let parts = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.dropFirst().contains("") else {
            throw CommandError(.usage, "A name or identifier is empty. Check the command's arguments.")
        }
        return base + path
    }

    private var headers: [(String, String)] {
        [(ControlRoute.operatorField, "command line")] + (adminToken.map { [("Authorization", "Bearer \($0)")] } ?? [])
    }

    /// Follows a response that goes on, line by line.
    /// - Parameter handle: takes a line; false ends the command's interest.
    /// - Throws: ``CommandError`` when no store answers, or when it refuses the request.
    func follow(_ route: ControlRoute, _ handle: (Substring) -> Bool) async throws {
        if let refused = try await PlainHTTP.follow(url(route), headers: headers, handle) {
            throw refusal(refused)
        }
    }

    /// Decodes a response's body.
    /// - Throws: ``CommandError`` when the status is not 2xx or the body cannot be decoded.
    func decoded<Answer: Decodable>(_ answer: PlainHTTP.Answer, as: Answer.Type) throws -> Answer {
        guard (200..<300).contains(answer.status) else { throw refusal(answer) }
        return try Self.decode(answer.body)
    }

    private func refusal(_ answer: PlainHTTP.Answer) -> CommandError {
        guard let error = try? JSONDecoder().decode(WireError.self, from: answer.body) else {
            return CommandError(
                .failed, "\(base) answered HTTP \(answer.status). Check that it is a Cornerstore's control port.")
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
                "Cannot read the control port's response. Use the same version of cornerstore as the server.")
        }
    }
}

/// Sends one HTTP request with limits on the time and the response's size.
enum PlainHTTP {
    struct Answer: Sendable {
        var status: Int
        var body: Data
    }

    /// A client that fails at once when no server listens; the default client retries until its timeout. It lives as
    /// long as the process.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(5)
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Sends a request with a JSON body.
    /// - Parameters:
    ///   - limit: the maximum size of the response's body in bytes.
    ///   - timeout: the time limit until the response begins.
    /// - Throws: ``CommandError`` when no server answers.
    static func send(
        _ method: String, _ url: String, body: Data?, headers: [(String, String)] = [], limit: Int,
        timeout: TimeAmount = .seconds(60)
    ) async throws -> Answer {
        try await send(
            method, url, body: body.map { HTTPClientRequest.Body.bytes(ByteBuffer(bytes: $0)) },
            headers: headers + (body == nil ? [] : [("Content-Type", "application/json")]), limit: limit,
            timeout: timeout)
    }

    /// Gets a response that goes on, and hands its lines on until `handle` returns false or the server ends it.
    /// - Returns: nil; the answer when the server refused.
    /// - Throws: ``CommandError`` when no server answers.
    static func follow(
        _ url: String, headers: [(String, String)], _ handle: (Substring) -> Bool
    ) async throws -> Answer? {
        var request = HTTPClientRequest(url: url)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        let response: HTTPClientResponse
        do { response = try await client.execute(request, deadline: .distantFuture) } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw isLost(error) ? lost("GET", url) : unreachable(url)
        }
        guard response.status == .ok else {
            let bytes = try await response.body.collect(upTo: 1 << 20)
            return Answer(status: Int(response.status.code), body: Data(bytes.readableBytesView))
        }
        var rest: [UInt8] = []
        do {
            for try await piece in response.body {
                rest += piece.readableBytesView
                while let end = rest.firstIndex(of: 0x0A) {
                    guard handle(Substring(decoding: rest[..<end], as: UTF8.self)) else { return nil }
                    rest.removeSubrange(...end)
                }
                guard rest.count < 1 << 20 else {
                    throw CommandError(.failed, "The store sent a line of more than 1 MiB.")
                }
            }
        } catch let error where error is CancellationError || error is CommandError {
            throw error
        } catch {
            throw CommandError(.failed, "The store ended the connection.")
        }
        return nil
    }

    /// The address of the server, such as `http://127.0.0.1:8400`.
    private static func place(_ url: String) -> String { url.split(separator: "/").prefix(2).joined(separator: "//") }

    private static func unreachable(_ url: String) -> CommandError {
        CommandError(
            .failed,
            "No store answers at \(place(url)). Start one with “cornerstore serve FILE.storekit”, or give its data directory with --data."
        )
    }

    private static let unknownEffect = "The change may have been made. Check it before you run the command again."

    /// Whether a connection was made and then ended before the response began.
    private static func isLost(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error == .remoteConnectionClosed
        case let error as IOError: error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
        case let error as ChannelError: error == .ioOnClosedChannel || error == .eof
        default: false
        }
    }

    private static func lost(_ method: String, _ url: String) -> CommandError {
        let advice = method == "GET" ? "Run the command again." : unknownEffect
        return CommandError(.failed, "\(place(url)) ended the connection before it answered. \(advice)")
    }

    /// Sends a request.
    /// - Parameters:
    ///   - limit: the maximum size of the response's body in bytes.
    ///   - timeout: the time limit until the response begins.
    /// - Throws: ``CommandError`` when no server answers.
    static func send(
        _ method: String, _ url: String, body: HTTPClientRequest.Body?, headers: [(String, String)], limit: Int,
        timeout: TimeAmount
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = body
        let response: HTTPClientResponse
        do { response = try await client.execute(request, timeout: timeout) } catch is CancellationError {
            throw CancellationError()
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            let effect = method == "GET" ? "" : " " + unknownEffect
            let seconds = timeout.nanoseconds / 1_000_000_000
            throw CommandError(.failed, "\(place(url)) has not answered within \(seconds) seconds.\(effect)")
        } catch {
            throw isLost(error) ? lost(method, url) : unreachable(url)
        }
        do {
            let bytes = try await response.body.collect(upTo: limit)
            return Answer(status: Int(response.status.code), body: Data(bytes.readableBytesView))
        } catch is CancellationError {
            throw CancellationError()
        } catch is NIOTooManyBytesError {
            throw CommandError(.failed, "The response of \(place(url)) is longer than \(limit) bytes.")
        } catch {
            throw CommandError(.failed, "\(place(url)) ended the connection before its response was complete.")
        }
    }
}
