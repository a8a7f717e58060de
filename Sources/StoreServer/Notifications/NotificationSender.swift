import Logging
import ServiceLifecycle
import Store
import StoreWire

/// Sends the notifications that are due by the stores' clocks to the apps' servers.
///
/// Each app has places of its own, so that a receiver that is slow or gone delays no other app. Notifications of one
/// subscription are sent one at a time, in their order; one that failed and is sent again later does not hold up those
/// after it. The result is recorded after the answer: a notification whose attempt a crash cut off is sent again.
actor NotificationSender: Service {
    /// The most attempts at the same time, over all apps that have no more places than one.
    static let places = 256
    /// The most attempts of one app at the same time.
    static let placesOfApp = 8
    /// The most notifications of one app that are read and signed at once. They wait for a place.
    private static let readAtOnce = 64
    /// The longest time between two looks at the outboxes.
    private static let longestPause = Duration.seconds(1)
    /// How long an app's notifications wait after the database or the signer failed.
    private static let pauseAfterFailure = Duration.seconds(10)
    /// How often notifications that were kept long enough are deleted, in seconds.
    private static let pruningSeconds: Int64 = 3_600

    private struct App: Hashable {
        var environment: StoreEnvironment
        var bundleID: BundleID
    }

    /// The work of one app: its notifications that were read and not yet sent.
    private struct Work {
        /// The lanes of the notifications that are being sent or wait for a place.
        var lanes: Set<Int64> = []
        /// The notifications that wait for a place.
        var ready: ArraySlice<OutgoingNotification> = []
        /// The number of notifications that are being sent.
        var running = 0
    }

    private let outboxes: [NotificationOutbox]
    private let claims: Claims?
    private let changes: Changes
    private let post: NotificationPost
    private let logger: Logger
    private let alarms: AsyncStream<Void>
    private let alarm: AsyncStream<Void>.Continuation
    private var work: [App: Work] = [:]
    /// When the apps whose notifications could not be read are looked at again.
    private var pauses: [App: ContinuousClock.Instant] = [:]
    private var nextPruning = ContinuousClock.now

    /// Creates the sender of several environments.
    /// - Parameters:
    ///   - claims: the claims of the processes that share the store; nil for a store of one process.
    ///   - changes: what changes is looked at soon.
    ///   - post: makes the attempts.
    init(
        _ outboxes: [NotificationOutbox], claims: Claims? = nil, changes: Changes,
        post: NotificationPost = NotificationPost(), logger: Logger
    ) {
        self.outboxes = outboxes
        self.claims = claims
        self.changes = changes
        self.post = post
        self.logger = logger
        (alarms, alarm) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Sends until the task is cancelled or the server stops. Attempts that this cuts off are made again after the next
    /// start.
    func run() async {
        await cancelWhenGracefulShutdown { await self.loop() }
    }

    private func loop() async {
        alarm.yield()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.tick() }
            // The loop ends when the task is cancelled.
            for await _ in alarms { await startDue(&group) }
            group.cancelAll()
        }
    }

    /// Looks at the outboxes when something has changed, and every second: the clocks move without a change.
    private nonisolated func tick() async {
        var last = changes.snapshot
        while let now = try? await changes.wait(since: last, upTo: Self.longestPause) {
            last = now
            alarm.yield()
        }
    }

    /// Starts attempts for the due notifications that there are places for.
    private func startDue(_ group: inout DiscardingTaskGroup) async {
        guard claims?.isCurrent ?? true else { return }
        if .now >= nextPruning {
            nextPruning = .now + Duration.seconds(Self.pruningSeconds)
            group.addTask { await self.prune() }
        }
        let targets = outboxes.flatMap { outbox in outbox.receivers.keys.map { (outbox, $0) } }
        forget(besides: Set(targets.map { App(environment: $0.0.store.environment, bundleID: $0.1) }))
        let places = max(1, min(Self.placesOfApp, Self.places / max(targets.count, 1)))
        for (outbox, bundleID) in targets {
            let app = App(environment: outbox.store.environment, bundleID: bundleID)
            if let end = pauses[app] {
                guard .now >= end else { continue }
                pauses[app] = nil
            }
            do {
                while let notification = try await next(of: app, outbox, places: places) {
                    group.addTask { await self.attend(to: notification, of: app, outbox) }
                }
            } catch {
                pauses[app] = ContinuousClock.now + Self.pauseAfterFailure
                report(error, of: app)
            }
        }
    }

    /// Forgets the notifications that were read for apps without a receiver. They wait in the outbox.
    private func forget(besides known: Set<App>) {
        for app in work.keys where !known.contains(app) {
            guard var left = work[app] else { continue }
            for notification in left.ready { left.lanes.remove(notification.lane) }
            left.ready = []
            work[app] = left.running == 0 ? nil : left
        }
    }

    /// Takes a place for the next notification of an app; nil when all places are taken, or nothing is due.
    private func next(
        of app: App, _ outbox: NotificationOutbox, places: Int
    ) async throws -> OutgoingNotification? {
        var work = work[app] ?? Work()
        guard work.running < places else { return nil }
        if work.ready.isEmpty {
            // A notification that waits for a place here could be sent by another process meanwhile.
            let due = try await outbox.due(
                of: app.bundleID, besides: work.lanes.sorted(),
                limit: outbox.isShared ? places - work.running : Self.readAtOnce)
            // Attempts can have ended meanwhile.
            work = self.work[app] ?? Work()
            work.ready = due[...]
            work.lanes.formUnion(due.map(\.lane))
        }
        let notification = work.ready.popFirst()
        if notification != nil { work.running += 1 }
        self.work[app] = work
        return notification
    }

    /// Deletes old notifications, beside the sending.
    private func prune() async {
        do {
            for outbox in outboxes {
                let name = "\(outbox.store.environment.name).pruning"
                guard try await claims?.take(name, seconds: Self.pruningSeconds) ?? true else { continue }
                try await outbox.prune()
            }
        } catch {
            guard !(error is CancellationError) else { return }
            logger.error("old notifications not deleted", metadata: ["problem": "\(Self.text(error))"])
        }
    }

    /// Makes one attempt, records it, and makes room for another. Receiver and shared secret are those of this moment;
    /// without a receiver of its version the notification stays in the outbox.
    private func attend(
        to notification: OutgoingNotification, of app: App, _ outbox: NotificationOutbox
    ) async {
        var wasSent = false
        if let receiver = outbox.receiver(of: notification, for: app.bundleID) {
            let date = outbox.store.clock.milliseconds
            let body = notification.body(password: outbox.store.apps[app.bundleID]?.sharedSecret)
            if let result = await post.send(body: body, to: receiver) {
                wasSent = true
                await record(SendAttempt(date: date, result: result), of: notification, app, outbox)
            }
        }
        if !wasSent { try? await outbox.release(notification) }
        work[app]?.lanes.remove(notification.lane)
        work[app]?.running -= 1
        alarm.yield()
    }

    /// Records an attempt, also during a stop: the database is closed later. While that fails, the notification keeps
    /// its place, because the receiver must not get it again at once, and then again.
    private func record(
        _ attempt: SendAttempt, of notification: OutgoingNotification, _ app: App, _ outbox: NotificationOutbox
    ) async {
        repeat {
            do {
                let state = try await outbox.record(attempt, of: notification)
                var metadata: Logger.Metadata = [
                    "environment": "\(app.environment.name)", "app": "\(app.bundleID)",
                    "type": "\(notification.type)", "result": "\(attempt.result.rawValue)",
                ]
                if notification.isSample { metadata["sample"] = "true" }
                if state == nil, outbox.isShared {
                    logger.warning("the result of a late attempt does not count", metadata: metadata)
                } else if state == .failed {
                    logger.warning("a notification is not sent any more", metadata: metadata)
                } else if notification.isSample {
                    logger.notice("a sample of a notification was sent", metadata: metadata)
                }
                return
            } catch {
                report(error, of: app)
                try? await Task.sleep(for: Self.pauseAfterFailure)
            }
        } while !Task.isCancelled
    }

    private func report(_ error: any Error, of app: App) {
        guard !(error is CancellationError) else { return }
        logger.error(
            "notifications not sent; due notifications wait",
            metadata: [
                "environment": "\(app.environment.name)", "app": "\(app.bundleID)", "problem": "\(Self.text(error))",
            ])
    }

    private static func text(_ error: any Error) -> String { (error as? StoreError)?.detail ?? "\(error)" }
}
