/// Verifies receipts by requests to a store's `verifyReceipt`, for a merchant that is configured for remote
/// verification.
public protocol RemoteVerifying: Sendable {
    /// Sends a receipt to production, and to the sandbox only after status 21007. Retries temporary failures.
    ///
    /// - Parameter receipt: an app receipt or an iOS 6 transaction receipt, as stored on the device.
    /// - Returns: the JSON body of the store's last response, whatever its `status`, at most 16 MiB, and the host that
    ///   sent it.
    /// - Throws: ``RemoteVerificationError`` when no store sent a final status.
    func verify(receipt: [UInt8]) async throws -> RemoteAnswer
}

/// A store's response.
public struct RemoteAnswer: Sendable, Equatable {
    /// The body: a JSON object with `status`.
    public var json: [UInt8]
    /// The store that responded, so that transactions of different stores are never confused. `apple` for Apple's
    /// hosts, otherwise the store's base URL.
    public var store: String
    /// Whether the store refuses the receipt permanently, with a status that can have another meaning in other
    /// responses.
    public var isRefused: Bool

    /// Creates a store's answer.
    public init(json: [UInt8], store: String, isRefused: Bool = false) {
        self.json = json
        self.store = store
        self.isRefused = isRefused
    }
}

/// A failed request to a store.
public struct RemoteVerificationError: Error, Sendable, Equatable {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// No response, or only temporary failures, in all attempts.
        case unavailable
        /// The circuit breaker is open: after repeated failures, the store is not asked for a while.
        case circuitOpen
        /// The response is invalid: not HTTP 200, not JSON, without a status, or too large.
        case malformedAnswer
    }

    /// The kind of failure.
    public var code: Code
    /// Details for the log, without receipts and secrets.
    public var detail: String
    /// The number of seconds after which a retry may succeed; nil when it is not known.
    public var retryAfter: Int?

    /// Creates an error.
    public init(_ code: Code, _ detail: String, retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }
}
