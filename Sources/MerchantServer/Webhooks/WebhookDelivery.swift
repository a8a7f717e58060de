import AsyncHTTPClient
import Foundation
import Logging
import Merchant
import Metrics
import ServiceLifecycle

/// Delivers the outbox's events to the merchant's backend: at least once, in no promised order, with growing pauses,
/// until each event is delivered or dead. Several processes may deliver over one database; the outbox leases an event
/// to one process at a time.
///
/// Events are sent concurrently, and each attempt that ends makes room for another, so that an event on which the
/// receiver hangs blocks no other. Retries have places of their own, so that events that keep failing do not delay new
/// ones.
public actor WebhookDelivery: Service {
    /// The number of new events that are sent concurrently.
    static let places = 24
    /// The number of retried events that are sent concurrently.
    static let retryPlaces = 8
    /// The default time limit of one attempt.
    public static let timeout = Duration.seconds(15)
    /// The default lease: how long no other process takes an event that this one has taken. It is longer than an
    /// attempt.
    public static let lease = Duration.seconds(20)
    /// The longest pause between two reads of the outbox, in milliseconds: other processes write to it too.
    static let longestNap: Int64 = 5_000

    private let receiver: WebhookReceiver
    private let outbox: any WebhookOutbox
    private let policy: WebhookPolicy
    /// The lease, in milliseconds.
    private let lease: Int64
    private let timeout: Duration
    private let pacing: Pacing
    private let logger: Logger
    private let counters: [String: Counter]
    private let alarms: AsyncStream<Void>
    private let alarm: AsyncStream<Void>.Continuation
    /// The numbers of new events and of retries in progress.
    private(set) var (sending, retrying) = (0, 0)
    /// Whether more events may be due than there was room for. An attempt that ends then triggers another read of the
    /// outbox.
    private var isFull = false

    /// Creates a delivery service.
    /// - Parameters:
    ///   - lease: the time after which another process sends the events that a killed process had taken.
    ///   - timeout: the time limit of one attempt.
    ///   - metrics: counts deliveries by outcome, `merchant_webhooks_total`; nil for none.
    public init(
        to receiver: WebhookReceiver, from outbox: any WebhookOutbox, policy: WebhookPolicy = WebhookPolicy(),
        lease: Duration = lease, timeout: Duration = WebhookDelivery.timeout, pacing: Pacing,
        metrics: (any MetricsFactory)?, logger: Logger
    ) {
        self.receiver = receiver
        self.outbox = outbox
        self.policy = policy
        self.lease = Int64(lease / .milliseconds(1))
        self.timeout = timeout
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

    /// Reads the outbox without delay. Call it when the outbox has a new event.
    public nonisolated func wake() { alarm.yield() }

    /// Delivers until the task is cancelled or the server stops. Attempts that this cuts off are made again after their
    /// lease.
    public func run() async {
        await cancelWhenGracefulShutdown { await self.loop() }
    }

    private func loop() async {
        alarm.yield()
        await withDiscardingTaskGroup { group in
            var nap: Task<Void, Never>?
            // The loop ends when the task is cancelled.
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

    /// Takes the due events that there is room for, and starts an attempt for each.
    /// - Returns: the milliseconds until the next read of the outbox, unless an attempt ends before.
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
        // A due event that was not taken waits for room, or another process holds its lease.
        return due > now ? min(due - now, Self.longestNap) : 1_000
    }

    /// Makes one attempt for a taken event, then makes room for another.
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
        logger.error("webhooks could not be delivered", metadata: ["error": .string(String(describing: error))])
    }

    private nonisolated var milliseconds: Int64 { Int64(pacing.now().timeIntervalSince1970 * 1000) }

    /// Takes the due events that there is room for.
    private func takeDue() async throws -> [WebhookEvent] {
        let now = milliseconds
        let (new, retries) = (Self.places - sending, Self.retryPlaces - retrying)
        // An attempt may end while the outbox is read, and this read does not use the room that it makes. It must
        // trigger another.
        isFull = true
        guard new > 0 || retries > 0 else { return [] }
        // Reserve the room before the first suspension.
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

    /// Takes the due events once, and makes one attempt for each. Tests call it instead of running the service.
    /// - Returns: the number of events taken.
    /// - Throws: the outbox's error.
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
        let began = (date: milliseconds, instant: ContinuousClock.now)
        let (attempt, body) = await self.attempt(event)
        let duration = ContinuousClock.now - began.instant
        // A delivery that the server's stop cut off is made again.
        try Task.checkCancellation()
        let now = milliseconds
        let outcome = policy.outcome(
            of: attempt, attempts: event.attempts + 1, now: now, random: pacing.random())
        let answer = WebhookAnswer(
            sentAt: began.date, duration: Int64(duration / .milliseconds(1)), status: attempt.status, body: body)
        try await outbox.settle(event, outcome, answer, now: now)
        switch outcome {
        case .delivered: counters["delivered"]?.increment()
        case .retry: counters["retry"]?.increment()
        case .dead(let reason):
            counters["dead"]?.increment()
            logger.error(
                "a webhook is not delivered any more",
                metadata: ["event": .string(event.eventID), "type": .string(event.type), "reason": .string(reason)])
        }
    }

    /// Sends an event.
    /// - Returns: the result, and the beginning of the answer's body.
    private nonisolated func attempt(_ event: WebhookEvent) async -> (WebhookPolicy.Attempt, body: [UInt8]) {
        let headers = WebhookSignature.headers(
            id: event.eventID, seconds: Int64(pacing.now().timeIntervalSince1970), body: event.body,
            secrets: receiver.secrets)
        do {
            let answer = try await OutgoingHTTP.post(
                event.body, to: receiver.url,
                headers: headers + [("Content-Type", "application/json"), ("User-Agent", "cornerstore-merchant")],
                answerLimit: nil, timeout: timeout)
            return (.answered(answer.status, retryAfter: answer.retryAfter), answer.body)
        } catch {
            return (.failed((error as? HTTPClientError)?.shortDescription ?? "no connection"), [])
        }
    }
}
