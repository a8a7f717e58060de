/// Asks a store about a receipt by `verifyReceipt`, for a merchant that is set up to ask instead of verifying by itself.
public protocol RemoteVerifying: Sendable {
    /// Asks production first, the sandbox only when production says so (21007), and tries again what may be tried again.
    ///
    /// - Parameter receipt: an app receipt or an iOS 6 transaction receipt, as the device holds it.
    /// - Returns: the JSON body of the store's last answer, whatever its `status`, at most 16 MiB, and which host gave it.
    /// - Throws: ``RemoteVerificationError`` when no store answered with a status that stands.
    func verify(receipt: [UInt8]) async throws -> RemoteAnswer
}

/// What a store answered.
public struct RemoteAnswer: Sendable, Equatable {
    /// The body of the answer: a JSON object with `status`.
    public var json: [UInt8]
    /// The roots' stand-in: which store it was, so that transactions of two stores are never taken for one another.
    /// `apple` for Apple's hosts, else the base URL of the store.
    public var store: String
    /// Whether the store refuses the receipt for good, by a status that may mean something else in another answer.
    public var isRefused: Bool

    /// Creates a store's answer.
    public init(json: [UInt8], store: String, isRefused: Bool = false) {
        self.json = json
        self.store = store
        self.isRefused = isRefused
    }
}

/// Why a store could not be asked.
public struct RemoteVerificationError: Error, Sendable, Equatable {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// No answer, or only such as say "later", as often as was tried.
        case unavailable
        /// The circuit is open: the store failed so often that it is not asked for a while.
        case circuitOpen
        /// An answer that is none: not HTTP 200, not JSON, no status, or too large.
        case malformedAnswer
    }

    /// The kind of failure.
    public var code: Code
    /// For the log. It holds no receipt and no secret.
    public var detail: String
    /// In how many seconds it may be tried again, when that is known.
    public var retryAfter: Int?

    /// Creates an error.
    public init(_ code: Code, _ detail: String, retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }
}
