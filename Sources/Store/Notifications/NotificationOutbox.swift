import CornerstoreEncoding
import Database
import Foundation
import StoreReceipts
import StoreWire

/// A notification to send now.
public struct OutgoingNotification: Sendable, Equatable {
    /// Its place among all notifications.
    public let number: Int64
    /// Notifications of one lane are sent one at a time.
    public let lane: Int64
    /// Apple's `notificationType`, or `notification_type` of version 1.
    public let type: String
    /// The number of times that the operator had ordered to send it again.
    let resends: Int64
    /// The signed payload; of version 1, the JSON of the body without the app's shared secret.
    public let signedPayload: String
    /// Whether it is a sample, which reports nothing that happened.
    public let isSample: Bool

    let version: NotificationVersion

    init(_ due: Notifications.Due, payload: String) {
        let notification = due.notification
        (number, lane, type, resends) = (notification.number, due.lane, notification.type, due.resends)
        (isSample, version) = (notification.isSample, notification.version)
        signedPayload = payload
    }

    /// The body of the request, JSON. That of version 1 has the app's shared secret, so it must not be logged.
    /// - Parameter password: the app's shared secret, for version 1; nil or empty to leave it out.
    public func body(password: String?) -> String {
        switch (version, password) {
        case (.two, _):
            // A JWS has no characters that JSON escapes.
            return "{\"signedPayload\":\"\(signedPayload)\"}"
        case (.one, let password?) where !password.isEmpty:
            var json = JSONBytes(capacity: 128)
            json.beginObject()
            json.member("password", password)
            json.endObject()
            return String(decoding: json.bytes.dropLast(), as: UTF8.self) + "," + String(signedPayload.dropFirst())
        case (.one, _): return signedPayload
        }
    }
}

/// The notifications of one environment to apps' servers: App Store Server Notifications, V2 or V1.
///
/// The database transaction of an event writes its notification, if the app has a receiver then. A notification is sent
/// at least once. Its payload is kept before the first attempt, so that all attempts and the history have the same one.
/// A notification keeps the version that the receiver had when it was written.
public struct NotificationOutbox: Sendable {
    /// How long notifications are kept, in milliseconds of the store's clock: 180 days.
    public static let keptFor: Int64 = 180 * 86_400_000

    /// How long a process may take to send a notification that it has claimed, in milliseconds of the machine's clock.
    /// An attempt takes half of it at most.
    static let claimedFor: Int64 = 30_000

    /// The store that writes the notifications.
    public let store: Store
    /// Whether other processes send notifications of the same store. Each process claims those that it sends.
    public let isShared: Bool
    let identity: @Sendable () -> JWSIdentity
    /// This process, as the other ones see it.
    private let holder: String
    private let now: @Sendable () -> Int64

    /// Creates the outbox of a store.
    /// - Parameters:
    ///   - holder: an identifier of this process, which changes with each start.
    ///   - isShared: whether other processes send notifications of the same store.
    ///   - now: the machine's clock, in milliseconds since 1970; nil for the one of the store.
    ///   - identity: returns the signer of the payloads. Its certificates can change.
    public init(
        _ store: Store, holder: UUID = UUID(), isShared: Bool = false, now: (@Sendable () -> Int64)? = nil,
        identity: @escaping @Sendable () -> JWSIdentity
    ) {
        self.store = store
        self.isShared = isShared
        self.identity = identity
        self.holder = holder.uuidString
        self.now = now ?? { store.clock.realMilliseconds }
    }

    /// The receivers of the apps that have one.
    public var receivers: [BundleID: NotificationReceiver] {
        var receivers: [BundleID: NotificationReceiver] = [:]
        for app in store.apps.all {
            receivers[app.bundleID] = store.apps.notificationReceiver(of: app.bundleID, in: store.environment)
        }
        return receivers
    }

    /// The receiver of a notification of an app; nil while it waits, because nobody receives it now.
    public func receiver(of notification: OutgoingNotification, for bundleID: BundleID) -> NotificationReceiver? {
        if let version = onlyVersion(for: bundleID), version != notification.version { return nil }
        return store.apps.notificationReceiver(of: bundleID, in: store.environment)
    }

    /// The only version that is sent for an app; nil for both. The usual receiver, such as the merchant beside the
    /// store, would refuse a notification that was written for a URL with another version.
    private func onlyVersion(for bundleID: BundleID) -> NotificationVersion? {
        guard store.apps[bundleID]?.notificationReceivers[store.environment] == nil else { return nil }
        return store.apps.usualNotificationReceiver?.version
    }

    // MARK: Sending

    /// Returns notifications of an app that are to be sent now, one of each lane, and keeps their payloads. In a shared
    /// store they are claimed for this process, and those of lanes that another process has claimed are left out.
    /// - Parameters:
    ///   - lanes: the lanes to leave out, because a notification of theirs is being sent.
    ///   - limit: the most notifications.
    /// - Throws: ``DatabaseError``; ``ReceiptAuthorityError`` when a payload cannot be signed.
    public func due(
        of bundleID: BundleID, besides lanes: [Int64] = [], limit: Int
    ) async throws -> [OutgoingNotification] {
        let found = try await findDue(of: bundleID, besides: lanes, limit: limit)
        let app = store.apps[bundleID]
        var outgoing: [OutgoingNotification] = []
        var signed: [(number: Int64, payload: String)] = []
        var seen: Set<Int64> = []
        var unsigned: [Int64] = []
        var failure: (any Error)?
        for due in found where seen.insert(due.lane).inserted {
            let notification = due.notification
            var payload = notification.signedPayload
            if let content = due.content {
                do {
                    let new = try await makePayload(of: content, app)
                    signed.append((notification.number, new))
                    payload = new
                } catch {
                    // The others of the batch are sent. Nothing later of this lane is.
                    failure = failure ?? error
                    unsigned.append(notification.number)
                    continue
                }
            }
            guard let payload else { continue }
            outgoing.append(OutgoingNotification(due, payload: payload))
        }
        if !signed.isEmpty {
            try await store.database.write { [signed] connection in
                for (number, payload) in signed { try Notifications.keep(payload, of: number, connection) }
            }
        }
        try await release(unsigned)
        if outgoing.isEmpty, let failure { throw failure }
        return outgoing
    }

    private func findDue(
        of bundleID: BundleID, besides lanes: [Int64], limit: Int
    ) async throws -> [Notifications.Due] {
        let date = store.clock.milliseconds
        let start = now()
        let free: Int64? = isShared ? start : nil
        let version = onlyVersion(for: bundleID)
        let found = try await store.database.read {
            try Notifications.due(
                of: bundleID, at: date, besides: lanes, only: version, unclaimedAt: free, limit: limit, $0)
        }
        guard isShared, !found.isEmpty else { return found }
        let claim = NotificationClaim(holder: holder, start: start, end: start + Self.claimedFor)
        return try await store.database.write { connection in
            var seen: Set<Int64> = []
            return try found.filter { due in
                try seen.insert(due.lane).inserted && Notifications.claim(due, at: date, for: claim, connection)
            }
        }
    }

    /// Gives a notification back that was due and is not sent now, so that another process need not wait to send it.
    /// - Throws: ``DatabaseError``.
    public func release(_ notification: OutgoingNotification) async throws {
        try await release([notification.number])
    }

    private func release(_ numbers: [Int64]) async throws {
        guard isShared, !numbers.isEmpty else { return }
        try await store.database.write { [holder] in try Notifications.release(numbers, by: holder, $0) }
    }

    /// Signs a payload, or writes the body of version 1. That has the customer's purchases as they are now, just before
    /// the first attempt; the rest says how things were when it happened.
    private func makePayload(of content: NotificationContent, _ app: AppRecord?) async throws -> String {
        switch content.version {
        case .two:
            let appID = store.environment == .production ? app?.appID : nil
            return try content.signed(store.environment, appID: appID, identity())
        case .one:
            var receipt: UnifiedReceipt?
            if let app, let accountID = content.accountID {
                receipt = try await store.unifiedReceipt(of: accountID, app, including: content.transactionID)
            }
            let catalog = store.catalog.value
            return content.bodyOfVersion1(store.environment, receipt) {
                catalog.product($0, of: content.bundleID)?.itemID
            }
        }
    }

    /// Records the result of an attempt. One that failed is made again in production: after 1, 12, 24, 48 and 72 hours
    /// of the store's clock, or after 6, 24 and 48 hours for version 1. In the sandbox it is not made again.
    /// - Returns: what becomes of the notification; nil when it did not wait, or when another process has claimed it
    ///   since, because this one took too long.
    /// - Throws: ``DatabaseError``.
    @discardableResult
    public func record(
        _ attempt: SendAttempt, of notification: OutgoingNotification
    ) async throws -> ServerNotification.State? {
        let (environment, holder) = (store.environment, isShared ? holder : nil)
        return try await store.database.write {
            try Notifications.record(attempt, of: notification, in: environment, by: holder, $0)
        }
    }

    /// Deletes notifications that were kept for 180 days. Those that wait stay while their app has a receiver of their
    /// version.
    /// - Throws: ``DatabaseError``.
    public func prune() async throws {
        let end = store.clock.milliseconds - Self.keptFor
        let receivers = receivers
        let apps = store.apps.all.map {
            (bundleID: $0.bundleID, isAll: receivers[$0.bundleID] == nil, version: onlyVersion(for: $0.bundleID))
        }
        let most = 500
        var deleted = most
        while deleted >= most, !Task.isCancelled {
            deleted = try await store.database.write { connection in
                try apps.reduce(0) { deleted, app in
                    guard deleted < most else { return deleted }
                    return try deleted
                        + Notifications.prune(
                            of: app.bundleID, before: end, isAll: app.isAll, only: app.version,
                            limit: most - deleted, connection)
                }
            }
        }
    }

    // MARK: For the operator

    /// Sends an app's server a test notification.
    /// - Throws: ``StoreError`` `wrong_state` when the app has no receiver, or one of version 1, which has no test
    ///   notification; ``DatabaseError``.
    public func sendTest(to bundleID: BundleID) async throws -> ServerNotification {
        try checkReceiver(of: bundleID)
        return try await send(.test(bundleID, at: store.clock.milliseconds))
    }

    /// Sends an app's server a sample: a notification of a type that nothing causes here, with made-up contents or
    /// those of the app's first subscription.
    /// - Parameter subtype: nil for a type without one.
    /// - Throws: ``StoreError`` `invalid_request` for a type that has no sample, with the samples or the command that
    ///   causes the type; `wrong_state` when the app has no receiver, or one of version 1; ``DatabaseError``;
    ///   ``ReceiptAuthorityError`` when the sample cannot be signed.
    public func sendSample(
        of type: String, _ subtype: String?, to bundleID: BundleID
    ) async throws -> ServerNotification {
        let sample = try NotificationSample.named(type, subtype)
        try checkReceiver(of: bundleID)
        return try await send(try await content(of: sample, for: bundleID))
    }

    /// Checks that an app has a receiver of version 2.
    /// - Throws: ``StoreError`` `wrong_state` when it has none.
    private func checkReceiver(of bundleID: BundleID) throws {
        guard let receiver = store.apps.notificationReceiver(of: bundleID, in: store.environment) else {
            throw StoreError(
                .wrongState,
                "The app has no URL for notifications in this environment. Set one with “cornerstore notification url "
                    + "set”.")
        }
        guard receiver.version == .two else {
            throw StoreError(
                .wrongState,
                "The app's URL gets version 1 of the notifications in this environment, which has no test "
                    + "notification and no samples. Set the URL without --v1.")
        }
    }

    private func send(_ content: NotificationContent) async throws -> ServerNotification {
        let number = store.ids.next()
        let written = try await store.database.write { connection in
            try Notifications.add(content, as: number, connection)
            return try Notifications.find(content.notificationID, connection)
        }
        guard let written else { throw Self.unknown }
        return written
    }

    /// Returns notifications, newest first, and the number with which the list continues; nil at the end.
    /// - Throws: ``DatabaseError``.
    public func list(_ filter: NotificationFilter) async throws -> (rows: [ServerNotification], next: Int64?) {
        try await store.database.read { try Notifications.list(filter, $0) }
    }

    /// Returns a notification by its `notificationUUID`, in any letter case.
    /// - Throws: ``StoreError`` `not_found`; ``DatabaseError``.
    public func notification(_ id: String) async throws -> ServerNotification {
        let id = id.lowercased()
        guard id.utf8.count == 36, !id.utf8.contains(0),
            let found = try await store.database.read({ try Notifications.find(id, $0) })
        else { throw Self.unknown }
        return found
    }

    /// Sends a notification again, whatever became of it, with the same payload and with all retries. An attempt that
    /// is being made does not count for it.
    /// - Throws: ``StoreError`` `not_found`; ``DatabaseError``.
    public func resend(_ id: String) async throws -> ServerNotification {
        let id = try await notification(id).notificationID
        guard let resent = try await store.database.write({ try Notifications.resend(id, $0) }) else {
            throw Self.unknown
        }
        return resent
    }

    private static let unknown = StoreError(.notFound, "There is no notification with this identifier.")
}
