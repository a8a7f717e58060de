import ControlWire
import CornerstoreEncoding
public import Foundation
public import HTTPSupport
public import Hummingbird
public import Logging
import MerchantWire
public import NIOCore
import StoreReceipts
import StoreWire

/// The API of a port, which the console asks like every other client. A program can do everything that the console
/// does.
public protocol APICalls: Sendable {
    /// Sends a request and returns the answer.
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: the path and query.
    ///   - body: the body; nil for none.
    ///   - type: the body's media type.
    ///   - token: the bearer token; nil for none.
    ///   - caller: the request to the console that asks.
    /// - Throws: an error when the API gave no answer.
    func send(
        _ method: String, _ path: String, body: [UInt8]?, type: String, token: String?, for caller: APICaller
    ) async throws -> APIAnswer

    /// Sends a `GET` whose answer is a stream.
    /// - Throws: an error when the API gave no answer.
    func stream(_ path: String, for caller: APICaller) async throws -> Response
}

/// The request to the console on whose behalf it asks an API.
public struct APICaller: Sendable {
    /// The browser's connection, whose address rate limits count.
    public var channel: any Channel
    /// The logger with the request's id.
    public var logger: Logger

    /// Creates a caller.
    public init(channel: any Channel, logger: Logger) { (self.channel, self.logger) = (channel, logger) }
}

/// The answer of an API.
public struct APIAnswer: Sendable {
    /// The status, such as 200.
    public var status: Int
    /// The body.
    public var body: Data

    /// Creates an answer.
    public init(status: Int, body: Data) { (self.status, self.body) = (status, body) }
}

extension InProcessResponder: APICalls {
    /// Answers a request with the router's routes.
    /// - Throws: the error of a handler, or ``InProcessResponder/Oversize``.
    public func send(
        _ method: String, _ path: String, body: [UInt8]?, type: String, token: String?, for caller: APICaller
    ) async throws -> APIAnswer {
        let answer = try await answer(
            method, path, body: body, type: type, token: token, headers: ConsoleAPI.fields, on: caller.channel,
            logger: caller.logger)
        return APIAnswer(status: answer.status, body: Data(answer.body.readableBytesView))
    }

    /// Answers a request with the router's routes.
    /// - Throws: the error of a handler.
    public func stream(_ path: String, for caller: APICaller) async throws -> Response {
        try await response(path, headers: ConsoleAPI.fields, on: caller.channel, logger: caller.logger)
    }
}

/// A request that an API refused, with the sentence for people.
struct APIProblem: Error, Equatable {
    var status: Int
    var code: String
    var message: String
}

/// The APIs that the console asks, for one request of a browser.
struct ConsoleAPI: Sendable {
    let backends: ConsoleBackends
    let caller: APICaller
    /// The fields by which the audit list names who changed something.
    static let fields = [ControlRoute.operatorField: "console"]

    // MARK: The control port

    var hasStore: Bool { backends.control != nil }

    private func control() throws -> any APICalls {
        guard let control = backends.control else {
            throw APIProblem(status: 404, code: "not_found", message: "This is a merchant's console. It has no store.")
        }
        return control
    }

    /// Sends a request without a body and returns the answer.
    /// - Throws: ``APIProblem``.
    func ask<Answer: Decodable>(_ route: ControlRoute, as: Answer.Type = Answer.self) async throws -> Answer {
        try await decoded(send(control(), route.method.rawValue, route.path, nil))
    }

    /// Sends a body to the control port and returns the answer.
    func send<Answer: Decodable>(
        _ route: ControlRoute, _ body: some Encodable, as: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await decoded(
            send(control(), route.method.rawValue, route.path, Array(try JSONEncoder.compact.encode(body))))
    }

    /// Sends a request whose answer is of no interest.
    func perform(_ route: ControlRoute) async throws {
        _ = try await send(control(), route.method.rawValue, route.path, nil)
    }

    /// Sends a body whose answer is of no interest.
    func perform(_ route: ControlRoute, _ body: some Encodable) async throws {
        _ = try await send(
            control(), route.method.rawValue, route.path, Array(try JSONEncoder.compact.encode(body)))
    }

    /// Appends bytes to an upload at its offset.
    func append(
        _ bytes: ArraySlice<UInt8>, to upload: ControlAPI.ContentUpload
    ) async throws -> ControlAPI.ContentUpload {
        let route = ControlRoute.appendToUpload(upload.uploadId, offset: upload.offset)
        return try await decoded(
            send(control(), route.method.rawValue, route.path, Array(bytes), type: "application/octet-stream"))
    }

    // MARK: A device

    /// Sends a request to a protocol port, as a device does.
    func device<Answer: Decodable>(
        _ environment: StoreEnvironment, _ route: StoreRoute, _ body: (any Encodable)? = nil, token: String? = nil,
        as: Answer.Type = Answer.self
    ) async throws -> Answer {
        let body = try body.map { Array(try JSONEncoder.compact.encode($0)) }
        return try await decoded(deviceAnswer(environment, route, body, token))
    }

    /// Sends a request to a protocol port whose answer is of no interest.
    func deviceCommand(
        _ environment: StoreEnvironment, _ route: StoreRoute, _ body: (any Encodable)? = nil, token: String?
    ) async throws {
        let body = try body.map { Array(try JSONEncoder.compact.encode($0)) }
        _ = try await deviceAnswer(environment, route, body, token)
    }

    /// Sends a request to `verifyReceipt` of a protocol port and returns the answer.
    func verifyReceipt<Answer: Decodable>(
        _ environment: StoreEnvironment, _ request: VerifyReceiptRequest, as: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await decoded(deviceAnswer(environment, .verifyReceipt, request.body, nil))
    }

    private func deviceAnswer(
        _ environment: StoreEnvironment, _ route: StoreRoute, _ body: [UInt8]?, _ token: String?
    ) async throws -> Data {
        guard let port = backends.devices[environment] else {
            throw APIProblem(status: 404, code: "not_found", message: "This console has no protocol port to ask.")
        }
        return try await send(port, route.method.rawValue, route.path, body, token)
    }

    // MARK: The merchant

    var hasMerchant: Bool { backends.merchant != nil }

    /// Sends a request without a body to the merchant and returns the answer.
    func ask<Answer: Decodable>(_ route: MerchantRoute, as: Answer.Type = Answer.self) async throws -> Answer {
        try await decoded(merchant(route, nil))
    }

    /// Sends a body to the merchant's admin API and returns the answer.
    func send<Answer: Decodable>(
        _ route: MerchantRoute, _ body: (some Encodable)?, as: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await decoded(merchant(route, try body.map { Array(try JSONEncoder.compact.encode($0)) }))
    }

    /// Sends a request to the merchant's admin API whose answer is of no interest.
    func perform(_ route: MerchantRoute) async throws { _ = try await merchant(route, nil) }

    private func merchant(_ route: MerchantRoute, _ body: [UInt8]?) async throws -> Data {
        guard let merchant = backends.merchant else {
            throw APIProblem(
                status: 404, code: "not_found",
                message: "No merchant runs beside this store. Start without --no-merchant.")
        }
        return try await send(merchant, route.method.rawValue, route.path, body)
    }

    // MARK: Sending

    private func send(
        _ calls: any APICalls, _ method: String, _ path: String, _ body: [UInt8]?, _ token: String? = nil,
        type: String = "application/json"
    ) async throws -> Data {
        let answer = try await calls.send(method, path, body: body, type: type, token: token, for: caller)
        guard (200..<300).contains(answer.status) else {
            guard let error = try? JSONDecoder().decode(WireError.self, from: answer.body) else {
                throw APIProblem(
                    status: answer.status, code: "unknown", message: "The server answered HTTP \(answer.status).")
            }
            throw APIProblem(status: answer.status, code: error.code.rawValue, message: error.message)
        }
        return answer.body
    }

    private func decoded<Answer: Decodable>(_ data: Data) throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: data)
    }
}
