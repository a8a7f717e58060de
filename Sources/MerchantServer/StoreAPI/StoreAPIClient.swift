import AsyncHTTPClient
import CornerstoreEncoding
import Foundation
import Logging
import Merchant
import StoreWire
import Synchronization

/// Sends requests to the App Store Server API of Apple's hosts or of a Cornerstore, each with a token of its own.
/// Tokens are never logged.
public final class StoreAPIClient: StoreAPI {
    /// Returns the access to an app's API; nil for an app without a key.
    public typealias Provider = @Sendable (BundleID) async -> StoreAPIAccess?

    /// The largest answer, in bytes, as in Apple's libraries.
    static let answerLimit = 1 << 20
    /// The most requests for one answer.
    static let attempts = 3
    /// The time limit of one request.
    static let timeout = Duration.seconds(10)
    /// The time limit of all requests and pauses for one answer, in seconds.
    static let total: Double = 25

    /// The most requests at once. Users choose the transactions that the merchant asks about.
    static let places = 64

    private struct State {
        var accesses: [BundleID: StoreAPIAccess]
        var provider: Provider?
        /// The number of requests in progress.
        var running = 0
    }

    private let state: Mutex<State>
    private let backoff = Backoff(first: 0.5, longest: 4)
    private let pacing: Pacing
    private let logger: Logger

    /// Creates a client.
    /// - Parameter accesses: the keys, one for each app.
    public init(_ accesses: [StoreAPIAccess], pacing: Pacing, logger: Logger) {
        state = Mutex(
            State(accesses: Dictionary(accesses.map { ($0.key.bundleID, $0) }, uniquingKeysWith: { $1 })))
        self.pacing = pacing
        self.logger = logger
    }

    /// Asks `provider` for the access to apps without a configured key, from now on.
    public func provide(_ provider: @escaping Provider) { state.withLock { $0.provider = provider } }

    /// Whether the client has a key of any app, or may get one.
    public var hasKeys: Bool { state.withLock { !$0.accesses.isEmpty || $0.provider != nil } }

    /// Sends a request. Retries temporary failures.
    /// - Returns: the body of the answer, at most 1 MiB. It is not verified.
    /// - Throws: ``StoreAPIError``, `CancellationError`.
    public func send(
        _ request: StoreAPIRequest, for app: BundleID, in environment: StoreEnvironment
    ) async throws -> [UInt8] {
        guard request.transactionID.utf8.allSatisfy({ ASCIICharacters.alphanumeric.contains($0) }) else {
            throw StoreAPIError(.unknownTransaction, "invalid transaction identifier")
        }
        guard let access = await access(app) else {
            throw StoreAPIError(.noKey, "no App Store Server API key for \(app.rawValue)")
        }
        let hasPlace = state.withLock { state in
            guard state.running < Self.places else { return false }
            state.running += 1
            return true
        }
        guard hasPlace else {
            throw StoreAPIError(.unavailable, "\(Self.places) requests are in progress", retryAfter: 1)
        }
        defer { state.withLock { $0.running -= 1 } }
        let deadline = seconds + Self.total
        var attempt = 1
        while true {
            let outcome = try await sendOnce(request, access, environment, until: deadline)
            switch outcome {
            case .body(let body): return body
            case .failed(let error):
                report(error, access.key, environment)
                throw error
            case .passing(let error):
                let pause = max(
                    backoff.pause(after: attempt, random: pacing.random()), Double(error.retryAfter ?? 0))
                guard attempt < Self.attempts, seconds + pause < deadline else {
                    var error = error
                    error.retryAfter = Int(min(max(pause.rounded(.up), 1), 3_600))
                    logger.warning(
                        "the store's API is unavailable",
                        metadata: [
                            "environment": .string(environment.rawValue), "reason": .string(error.detail),
                            "attempts": .stringConvertible(attempt),
                        ])
                    throw error
                }
                try await pacing.sleep(.seconds(pause))
                attempt += 1
            }
        }
    }

    /// Logs a failure that the operator should know of. It does not log an unknown transaction.
    private func report(_ error: StoreAPIError, _ key: StoreAPIKey, _ environment: StoreEnvironment) {
        let metadata: Logger.Metadata = [
            "key": .string(key.keyID), "app": .string(key.bundleID.rawValue),
            "environment": .string(environment.rawValue), "reason": .string(error.detail),
        ]
        switch error.code {
        case .unauthorized: logger.error("the store refuses an API key", metadata: metadata)
        case .refused, .malformedAnswer: logger.warning("the store's API refused a request", metadata: metadata)
        case .noKey, .unknownTransaction, .unavailable: break
        }
    }

    private var seconds: Double { pacing.now().timeIntervalSince1970 }

    private func access(_ app: BundleID) async -> StoreAPIAccess? {
        let (known, provider) = state.withLock { ($0.accesses[app], $0.provider) }
        if let known { return known }
        return await provider?(app)
    }

    /// The result of one request.
    enum Outcome: Equatable {
        case body([UInt8])
        /// A retry does not help.
        case failed(StoreAPIError)
        /// A temporary failure.
        case passing(StoreAPIError)
    }

    private func sendOnce(
        _ request: StoreAPIRequest, _ access: StoreAPIAccess, _ environment: StoreEnvironment, until deadline: Double
    ) async throws -> Outcome {
        let token = try access.key.token(at: Int64(seconds))
        var headers = [
            ("Authorization", "Bearer \(token)"), ("Accept", "application/json"),
            ("User-Agent", "cornerstore-merchant"),
        ]
        if request.body != nil { headers.append(("Content-Type", "application/json")) }
        do {
            let left = Duration.seconds(max(deadline - seconds, 0.1))
            let answer = try await OutgoingHTTP.send(
                request.method, request.body, to: request.url(at: access.base(environment)), headers: headers,
                answerLimit: Self.answerLimit, timeout: min(Self.timeout, left))
            return Outcome(answer, at: seconds)
        } catch is CancellationError {
            throw CancellationError()
        } catch is OutgoingHTTP.BodyTooLarge {
            return .failed(StoreAPIError(.malformedAnswer, "the answer is over \(Self.answerLimit) bytes"))
        } catch {
            try Task.checkCancellation()
            return .passing(
                StoreAPIError(.unavailable, (error as? HTTPClientError)?.shortDescription ?? "no connection"))
        }
    }
}

extension StoreAPIClient.Outcome {
    /// The error code of an unknown transaction.
    private static let transactionIDNotFound: Int64 = 4_040_010

    /// Judges an answer.
    /// - Parameter now: seconds since 1970.
    init(_ answer: OutgoingHTTP.Answer, at now: Double) {
        guard !(200...299).contains(answer.status) else {
            self = .body(answer.body)
            return
        }
        let members = try? FlatJSONObject(answer.body)
        let code = try? members?.wholeNumber("errorCode")
        let detail = "HTTP \(answer.status)" + (code.map { ", error \($0)" } ?? "")
        switch answer.status {
        case 401: self = .failed(StoreAPIError(.unauthorized, detail))
        // Apple's sandbox and production answer so about each other's transactions.
        case 404 where code == nil || code == Self.transactionIDNotFound:
            self = .failed(StoreAPIError(.unknownTransaction, detail))
        case 404 where (4_040_000...4_049_999).contains(code ?? 0):
            // Retryable forms of “account, app or original transaction not found” have even numbers up to 4040006.
            let isRetryable = [4_040_002, 4_040_004, 4_040_006].contains(code)
            self =
                isRetryable
                ? .passing(StoreAPIError(.unavailable, detail)) : .failed(StoreAPIError(.unknownTransaction, detail))
        // An identifier that the store cannot have made.
        case 400 where code == 4_000_006 || code == 4_000_008:
            self = .failed(StoreAPIError(.unknownTransaction, detail))
        case 408, 429, 500...599:
            self = .passing(
                StoreAPIError(.unavailable, detail, retryAfter: answer.retryAfter.map { Self.seconds($0, from: now) }))
        case 400...499: self = .failed(StoreAPIError(.refused, detail))
        default: self = .failed(StoreAPIError(.malformedAnswer, detail))
        }
    }

    /// The seconds until a `Retry-After`, which the API writes in milliseconds since 1970, at most an hour.
    static func seconds(_ retryAfter: Int, from now: Double) -> Int {
        // A number of seconds is never so large.
        guard retryAfter > 1_000_000_000_000 else { return min(retryAfter, 3_600) }
        return Int(min(max((Double(retryAfter) / 1_000 - now).rounded(.up), 0), 3_600))
    }
}

extension StoreAPIRequest {
    /// The transaction that the request names.
    var transactionID: String {
        switch self {
        case .transaction(let id), .statuses(let id), .consumption(let id, _), .accountToken(let id, _): id
        }
    }

    var method: RouteMethod {
        switch self {
        case .transaction, .statuses: .get
        case .consumption, .accountToken: .put
        }
    }

    var body: [UInt8]? {
        switch self {
        case .transaction, .statuses: nil
        case .consumption(_, let body), .accountToken(_, let body): body
        }
    }

    /// - Parameter base: the host's base URL, with or without a slash at its end.
    func url(at base: URL) -> URL {
        let path =
            switch self {
            case .transaction(let id): "inApps/v1/transactions/\(id)"
            case .statuses(let id): "inApps/v1/subscriptions/\(id)"
            case .consumption(let id, _): "inApps/v2/transactions/consumption/\(id)"
            case .accountToken(let id, _): "inApps/v1/transactions/\(id)/appAccountToken"
            }
        return base.appendingPathComponent(path)
    }
}
