import AsyncHTTPClient
import Foundation
import Logging
import Merchant
import NIOCore
import StoreReceipts
import StoreWire
import Synchronization

/// Verifies receipts with `verifyReceipt` on Apple's hosts, or on a Cornerstore's: on production first, and on the
/// sandbox only when production answers 21007.
public struct StoreClient: RemoteVerifying {
    /// The client's limits on attempts and time.
    public struct Patience: Sendable, Equatable {
        /// The largest number of requests to one host.
        public var attempts = 4
        /// The time limit of one request.
        public var timeout = Duration.seconds(15)
        /// The time limit of all requests and pauses for one receipt, in seconds.
        public var total: Double = 40
        var backoff = Backoff(first: 0.25, longest: 4)
        var circuit = CircuitBreaker.Settings()

        /// Creates the standard limits.
        public init() {}
    }

    /// The largest answer in bytes. Apple's answers contain the whole history of a subscriber.
    static let answerLimit = 16 << 20

    private let hosts: StoreHosts
    private let secret: String?
    private let patience: Patience
    private let pacing: Pacing
    private let circuits: Circuits
    private let complaints = StoreComplaints()
    private let metrics: StoreClientMetrics?
    private let logger: Logger

    /// Creates a client.
    /// - Parameters:
    ///   - sharedSecret: the app's shared secret, which receipts with subscriptions require. Only the store receives
    ///     it.
    ///   - metrics: counts requests by host and outcome; nil for none.
    public init(
        _ hosts: StoreHosts, sharedSecret: String?, patience: Patience = Patience(), pacing: Pacing,
        metrics: StoreClientMetrics?, logger: Logger
    ) {
        self.hosts = hosts
        secret = sharedSecret
        self.patience = patience
        self.pacing = pacing
        self.metrics = metrics
        self.logger = logger
        circuits = Circuits(patience.circuit)
    }

    /// Verifies a receipt.
    /// - Throws: ``RemoteVerificationError``, `CancellationError`.
    public func verify(receipt: [UInt8]) async throws -> RemoteAnswer {
        guard receipt.count <= StoreLimits.verifyReceiptRequest / 2 else {
            throw RemoteVerificationError(.malformedAnswer, "the receipt is too large for verifyReceipt")
        }
        let body = VerifyReceiptRequest(
            receiptData: receipt, password: secret, excludeOldTransactions: false
        ).body
        let deadline = seconds + patience.total
        switch try await ask(.production, hosts.production, body, until: deadline) {
        case .settled(let answer): return answer
        case .isOfSandbox(let json):
            guard let sandbox = hosts.sandbox else { return RemoteAnswer(json: json, store: hosts.name) }
            switch try await ask(.sandbox, sandbox, body, until: deadline) {
            case .settled(let answer): return answer
            case .isOfSandbox(let json): return RemoteAnswer(json: json, store: hosts.name)
            }
        }
    }

    /// One of the two stores' hosts.
    enum Host: String, Sendable, CaseIterable {
        case production
        case sandbox
    }

    private enum Outcome {
        case settled(RemoteAnswer)
        case isOfSandbox([UInt8])
    }

    private var seconds: Double { pacing.now().timeIntervalSince1970 }

    /// Asks one host until it gives a final answer.
    /// - Throws: ``RemoteVerificationError``, `CancellationError`.
    private func ask(_ host: Host, _ url: URL, _ body: [UInt8], until deadline: Double) async throws -> Outcome {
        var attempt = 1
        while true {
            switch try await askOnce(host, url, body, until: deadline) {
            case .settled(let json, let verdict):
                complaints.tell(verdict, of: host, hasSecret: secret != nil, at: pacing.now(), logger)
                var answer = RemoteAnswer(json: json, store: hosts.name)
                if case .rejected = verdict { answer.isRefused = true }
                return .settled(answer)
            case .isOfSandbox(let json): return .isOfSandbox(json)
            case .malformed(let reason):
                logger.warning(
                    "a store's answer is malformed",
                    metadata: ["host": .string(host.rawValue), "reason": .string(reason)])
                throw RemoteVerificationError(.malformedAnswer, "the \(host.rawValue) host: \(reason)")
            case .passing(let reason, let retryAfter):
                let pause = max(
                    patience.backoff.pause(after: attempt, random: pacing.random()), Double(retryAfter ?? 0))
                guard attempt < patience.attempts, seconds + pause < deadline else {
                    logger.warning(
                        "a store is unavailable",
                        metadata: [
                            "host": .string(host.rawValue), "reason": .string(reason),
                            "attempts": .stringConvertible(attempt),
                        ])
                    throw RemoteVerificationError(
                        .unavailable, "the \(host.rawValue) host, asked \(attempt) times: \(reason)",
                        retryAfter: Int(min(max(pause.rounded(.up), 1), 3_600)))
                }
                try await pacing.sleep(.seconds(pause))
                attempt += 1
            }
        }
    }

    /// Sends one request, if the circuit breaker allows it.
    private func askOnce(_ host: Host, _ url: URL, _ body: [UInt8], until deadline: Double) async throws -> StoreAnswer
    {
        if case .refused(let wait) = circuits.change(host, { $0.admit(at: seconds) }) {
            metrics?.count(host, .refused)
            throw RemoteVerificationError(
                .circuitOpen, "the \(host.rawValue) host failed too often and gets no requests for now",
                retryAfter: Int(min(max(wait.rounded(.up), 1), 3_600)))
        }
        let answer: StoreAnswer
        // A request that found no free connection says nothing about the store.
        var wasSent = true
        do {
            let left = Duration.seconds(max(deadline - seconds, 0.1))
            answer = StoreAnswer(
                try await OutgoingHTTP.post(
                    body, to: url, headers: [("Content-Type", "application/json")], answerLimit: Self.answerLimit,
                    timeout: min(patience.timeout, left)))
        } catch is CancellationError {
            circuits.change(host) { $0.abandoned(at: seconds) }
            throw CancellationError()
        } catch is OutgoingHTTP.BodyTooLarge {
            answer = .malformed("the answer is over \(Self.answerLimit) bytes")
        } catch {
            guard !Task.isCancelled else {
                circuits.change(host) { $0.abandoned(at: seconds) }
                throw CancellationError()
            }
            wasSent = error as? HTTPClientError != .getConnectionFromPoolTimeout
            answer = .passing((error as? HTTPClientError)?.shortDescription ?? "no connection", retryAfter: nil)
        }
        switch answer {
        case .settled(_, let verdict):
            circuits.change(host) { $0.succeeded() }
            metrics?.count(host, by: verdict)
        case .isOfSandbox:
            circuits.change(host) { $0.succeeded() }
            metrics?.count(host, .answered)
        case .passing:
            circuits.change(host) { wasSent ? $0.failed(at: seconds) : $0.abandoned(at: seconds) }
            metrics?.count(host, .failed)
        case .malformed:
            // The receipt may be the cause, and must not block other requests.
            circuits.change(host) { $0.abandoned(at: seconds) }
            metrics?.count(host, .failed)
        }
        return answer
    }

    /// A circuit breaker for each host.
    private final class Circuits: Sendable {
        private let circuits: Mutex<[Host: CircuitBreaker]>

        init(_ settings: CircuitBreaker.Settings) {
            circuits = Mutex(Dictionary(uniqueKeysWithValues: Host.allCases.map { ($0, CircuitBreaker(settings)) }))
        }

        @discardableResult
        func change<Value: Sendable>(_ host: Host, _ body: (inout CircuitBreaker) -> Value) -> Value {
            circuits.withLock { body(&$0[host, default: CircuitBreaker(CircuitBreaker.Settings())]) }
        }
    }
}
