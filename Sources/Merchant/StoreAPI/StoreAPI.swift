import StoreWire

/// A client of the App Store Server API, of a Cornerstore or of Apple's App Store.
public protocol StoreAPI: Sendable {
    /// Whether the client has a key of any app, or may get one.
    var hasKeys: Bool { get }
    /// Sends a request. Retries temporary failures.
    /// - Parameters:
    ///   - app: the app whose key signs the request.
    ///   - environment: the environment whose host receives the request.
    /// - Returns: the body of the answer, at most 1 MiB. It is not verified.
    /// - Throws: ``StoreAPIError``, `CancellationError`.
    func send(_ request: StoreAPIRequest, for app: BundleID, in environment: StoreEnvironment) async throws -> [UInt8]
}

/// A request to the App Store Server API. Transactions are named by their identifiers.
public enum StoreAPIRequest: Sendable, Equatable {
    /// Get Transaction Info.
    case transaction(String)
    /// Get All Subscription Statuses of the customer of a transaction.
    case statuses(String)
    /// Send Consumption Information, version 2, with a JSON body.
    case consumption(String, body: [UInt8])
    /// Set App Account Token of an original transaction, with a JSON body.
    case accountToken(String, body: [UInt8])
}

/// A failed request to the App Store Server API.
public struct StoreAPIError: Error, Sendable, Equatable {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// The merchant has no key of the app.
        case noKey
        /// The store refuses the key (401).
        case unauthorized
        /// The environment has no such transaction (404).
        case unknownTransaction
        /// The store refuses the request for good.
        case refused
        /// No answer, or only temporary failures, in all attempts.
        case unavailable
        /// The answer is not one of the API, or is too large.
        case malformedAnswer
    }

    /// The kind of failure.
    public var code: Code
    /// Details for the log, without tokens and keys.
    public var detail: String
    /// The number of seconds after which a retry may succeed; nil when it is not known.
    public var retryAfter: Int?
    /// Whether another environment has no such transaction.
    var isUnknownElsewhere = false

    /// Creates an error.
    public init(_ code: Code, _ detail: String, retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// Whether the same request may succeed later.
    var isTemporary: Bool {
        switch code {
        case .noKey, .unauthorized, .unavailable, .malformedAnswer: true
        case .unknownTransaction, .refused: false
        }
    }
}
