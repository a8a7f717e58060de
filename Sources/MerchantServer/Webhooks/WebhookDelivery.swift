import AsyncHTTPClient
import Foundation
import Logging
import Merchant
import Metrics
import ServiceLifecycle

/// Delivers the outbox's events to the merchant's backend: at least once, in no order that is promised, with pauses
/// that grow, until each is delivered or dead. Several processes may do it over one database; the outbox leases an
/// event to one of them at a time.
///
/// Events are sent side by side, and each that ends makes place for another: one on which the receiver hangs holds its
/// own place and no other. Events that were tried before have places of their own, so that those that fail again and
/// again do not keep new ones waiting.
public actor WebhookDelivery: Service {
    /// Events that are sent side by side for the first time.
    static let places = 24
    /// Events that are sent side by side and were tried before.
    static let retryPlaces = 8
    /// For one attempt.
    static let timeout = Duration.seconds(15)
    /// For how long no other process takes an event that this one has taken, unless told otherwise: longer than an attempt.
    public static let lease = Duration.seconds(20)
    /// The longest that it is slept, in milliseconds: other processes write to the outbox too.
    static let longestNap: Int64 = 5_000

    private let receiver: WebhookReceiver
    private let outbox: any WebhookOutbox
    private let policy: WebhookPolicy
    /// In milliseconds.
    private let lease: Int64
    private let pacing: Pacing
    private let logger: Logger
    private let counters: [String: Counter]
    private let alarms: AsyncStream<Void>
    private let alarm: AsyncStream<Void>.Continuation
    /// New events under way, and such that were tried before.
    private(set) var (sending, retrying) = (0, 0)
    /// Whether more may be due than there were places for, so that an attempt that ends has to have the outbox read.
    private var isFull = false

    /// - Parameters:
    ///   - lease: what a process that was killed had taken is sent by another, or by the next, after this time.
    ///   - metrics: counts deliveries, `merchant_webhooks_total` by outcome.
    public init(
        to receiver: WebhookReceiver, from outbox: any WebhookOutbox, policy: WebhookPolicy = WebhookPolicy(),
        lease: Duration = lease, pacing: Pacing, metrics: (any MetricsFactory)?, logger: Logger
    ) {
        self.receiver = receiver
        self.outbox = outbox
        self.policy = policy
        self.lease = Int64(lease / .milliseconds(1))
        self.pacing = pacing
        self.logger = logger
        var counters: [String: Counter] = [:]
        if let metrics {
            for outcome in ["delivered", "retry", "dead"] {
                counters[outcome] = Counter(
                    label: "merchant_webhooks", dimensions: [("outcome", outcome)], factory: metrics)
            }
        }
        self.counters = counters
        (alarms, alarm) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Says that there is something new in the outbox; it is looked at without delay.
    public nonisolated func wake() { alarm.yield() }

    /// Delivers until the task is cancelled or the server stops. What is under way then is sent again after its lease.
    public func run() async {
        await cancelWhenGracefulShutdown { await self.loop() }
    }

    private func loop() async {
        alarm.yield()
        await withDiscardingTaskGroup { group in
            var nap: Task<Void, Never>?
            // Ends when the task is cancelled.
            for await _ in alarms {
                nap?.cancel()
                let pause = await startDue(&group)
                let (alarm, sleep) = (alarm, pacing.sleep)
                nap = Task {
                    do { try await sleep(.milliseconds(pause)) } catch { return }
                    alarm.yield()
                }
            }
            nap?.cancel()
            group.cancelAll()
        }
    }

    /// Takes what is due, as far as there are places, and starts an attempt for each.
    /// - Returns: in how many milliseconds to look again, unless an attempt ends before.
    private func startDue(_ group: inout DiscardingTaskGroup) async -> Int64 {
        var due = Int64.max
        do {
            for event in try await takeDue() {
                group.addTask { await self.attend(to: event) }
            }
            due = try await outbox.nextDue() ?? .max
        } catch {
            if !(error is CancellationError) { report(error) }
        }
        let now = milliseconds
        // An event that is due already and was not taken waits for a place, or is under another's lease.
        return due > now ? min(due - now, Self.longestNap) : 1_000
    }

    /// Makes an attempt for an event that was taken, and gives its place to another.
    private func attend(to event: WebhookEvent) async {
        do {
            try await deliver(event)
        } catch {
            if !(error is CancellationError) { report(error) }
        }
        if event.attempts == 0 { sending -= 1 } else { retrying -= 1 }
        if isFull {
            isFull = false
            alarm.yield()
        }
    }

    private func report(_ error: any Error) {
        logger.error("webhooks are not delivered", metadata: ["error": .string(String(describing: error))])
    }

    private nonisolated var milliseconds: Int64 { Int64(pacing.now().timeIntervalSince1970 * 1000) }

    /// Takes what is due, as far as there are places.
    private func takeDue() async throws -> [WebhookEvent] {
        let now = milliseconds
        let (new, retries) = (Self.places - sending, Self.retryPlaces - retrying)
        // An attempt that ends while the outbox is read gives a place back that this read does not fill. It must ring.
        isFull = true
        guard new > 0 || retries > 0 else { return [] }
        // The places are taken before anything is waited for.
        sending += new
        retrying += retries
        var events: [WebhookEvent] = []
        defer {
            let tried = events.count { $0.attempts > 0 }
            sending -= new - (events.count - tried)
            retrying -= retries - tried
        }
        events = try await outbox.takeDueEvents(limit: new, retries: retries, now: now, leaseEnd: now + lease)
        let tried = events.count { $0.attempts > 0 }
        if tried < retries, events.count - tried < new { isFull = false }
        return events
    }

    /// Takes what is due, once, and makes an attempt for each.
    /// - Returns: how many events were taken.
    /// - Throws: what the outbox throws.
    @discardableResult
    func deliverDue() async throws -> Int {
        let events = try await takeDue()
        await withDiscardingTaskGroup { group in
            for event in events {
                group.addTask { await self.attend(to: event) }
            }
        }
        return events.count
    }

    private nonisolated func deliver(_ event: WebhookEvent) async throws {
        let attempt = await attempt(event)
        // A delivery that was cut off by the server's stopping is made again.
        try Task.checkCancellation()
        let now = milliseconds
        let outcome = policy.outcome(
            of: attempt, attempts: event.attempts + 1, now: now, random: pacing.random())
        try await outbox.settle(event.eventID, outcome, now: now)
        switch outcome {
        case .delivered: counters["delivered"]?.increment()
        case .retry: counters["retry"]?.increment()
        case .dead(let reason):
            counters["dead"]?.increment()
            logger.error(
                "a webhook is given up",
                metadata: ["event": .string(event.eventID), "type": .string(event.type), "reason": .string(reason)])
        }
    }

    private nonisolated func attempt(_ event: WebhookEvent) async -> WebhookPolicy.Attempt {
        let headers = WebhookSignature.headers(
            id: event.eventID, seconds: Int64(pacing.now().timeIntervalSince1970), body: event.body,
            secrets: receiver.secrets)
        do {
            let answer = try await OutgoingHTTP.post(
                event.body, to: receiver.url,
                headers: headers + [("Content-Type", "application/json"), ("User-Agent", "cornerstore-merchant")],
                answerLimit: nil, timeout: Self.timeout)
            return .answered(answer.status, retryAfter: answer.retryAfter)
        } catch {
            return .failed((error as? HTTPClientError)?.shortDescription ?? "no connection")
        }
    }
}
