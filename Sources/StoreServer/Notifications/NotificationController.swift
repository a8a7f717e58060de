import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// Serves the operator of the notifications: sets and removes URLs, lists what was sent, sends it again, and tests.
struct NotificationController: Sendable {
    let outboxes: [StoreEnvironment: NotificationOutbox]

    private static let largestBody = 64 << 10

    private typealias Handler =
        @Sendable (NotificationOutbox, Request, StoreRequestContext) async throws -> Response

    func addRoutes(to router: Router<StoreRequestContext>) {
        on(router, .receivers(.sandbox)) { outbox, _, _ in
            try .json(
                outbox.receivers.sorted { $0.key < $1.key }.map { ControlAPI.NotificationReceiver($0.key, $0.value) })
        }
        on(router, .setReceiver(.sandbox, bundle: "")) { outbox, request, context in
            let bundleID = try Self.bundleID(context)
            let change = try await request.decodeJSON(
                ControlAPI.NotificationReceiverChange.self, upTo: Self.largestBody)
            guard let version = NotificationVersion(rawValue: Int64(change.version ?? 2)) else {
                throw StoreError(.invalidRequest, "“version” must be 1 or 2.")
            }
            let receiver = try NotificationReceiver(
                url: change.url, redirectOrigins: change.redirectOrigins ?? [], version: version)
            let before = outbox.receivers[bundleID]?.address.origin
            try await outbox.store.apps.setNotificationReceiver(
                receiver, of: bundleID, in: outbox.store.environment)
            // A path may contain a secret.
            context.note?.say(before: before, after: receiver.address.origin)
            return try .json(ControlAPI.NotificationReceiver(bundleID, receiver))
        }
        on(router, .removeReceiver(.sandbox, bundle: "")) { outbox, _, context in
            let bundleID = try Self.bundleID(context)
            let before = outbox.receivers[bundleID]?.address.origin
            try await outbox.store.apps.setNotificationReceiver(nil, of: bundleID, in: outbox.store.environment)
            context.note?.say(before: before)
            return Response(status: .noContent)
        }
        on(router, .test(.sandbox, bundle: "")) { outbox, _, context in
            try .json(ControlAPI.Notification(try await outbox.sendTest(to: try Self.bundleID(context))))
        }
        on(router, .sample(.sandbox, bundle: "")) { outbox, request, context in
            let bundleID = try Self.bundleID(context)
            let sample = try await request.decodeJSON(ControlAPI.NotificationSample.self, upTo: Self.largestBody)
            let sent = try await outbox.sendSample(of: sample.notificationType, sample.subtype, to: bundleID)
            context.note?.say(
                after: "sample \([sent.type, sent.subtype].compactMap(\.self).joined(separator: "/"))")
            return try .json(ControlAPI.Notification(sent))
        }
        on(router, .list(.sandbox)) { outbox, request, _ in
            let page = try await outbox.list(try Self.filter(request))
            let rows = page.rows.map { notification in
                var row = ControlAPI.Notification(notification)
                (row.signedPayload, row.body) = (nil, nil)
                return row
            }
            return try .json(ControlAPI.Page(rows: rows, next: page.next.map { String($0) }))
        }
        on(router, .notification(.sandbox, id: "")) { outbox, _, context in
            try .json(ControlAPI.Notification(try await outbox.notification(Self.value(.id, context))))
        }
        on(router, .resend(.sandbox, id: "")) { outbox, _, context in
            try .json(ControlAPI.Notification(try await outbox.resend(Self.value(.id, context))))
        }
    }

    private func on(_ router: Router<StoreRequestContext>, _ route: NotificationRoute, _ handler: @escaping Handler) {
        router.on(.notifications(route), of: outboxes, use: handler)
    }

    private static func value(_ parameter: ControlRoute.Parameter, _ context: StoreRequestContext) -> String {
        context.parameter(parameter)?.removingPercentEncoding ?? ""
    }

    private static func bundleID(_ context: StoreRequestContext) throws -> BundleID {
        let bundleID = BundleID(value(.bundle, context))
        guard bundleID.isPlain else {
            throw StoreError(.unknownApp, "The path must contain an app's bundle identifier.")
        }
        return bundleID
    }

    private static func filter(_ request: Request) throws -> NotificationFilter {
        var filter = NotificationFilter(
            bundleID: request.query(.bundle).map { BundleID($0) }, limit: try request.limit(most: 200, usual: 50))
        if let bundleID = filter.bundleID, !bundleID.isPlain {
            throw StoreError(.invalidRequest, "“bundle” must be an app's bundle identifier.")
        }
        if let text = request.query(.state) {
            guard let state = ServerNotification.State(rawValue: text) else {
                let known = ServerNotification.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "“state” must be one of \(known).")
            }
            filter.state = state
        }
        if let type = request.query(.type) {
            guard NotificationFilter.types.contains(type) else {
                throw StoreError(.invalidRequest, "“type” must be one of Apple's types, such as DID_RENEW.")
            }
            filter.type = type
        }
        if let text = request.query(.before) {
            guard let before = Int64(text), before > 0 else {
                throw StoreError(.invalidRequest, "“before” must be the “next” of the list before.")
            }
            filter.before = before
        }
        return filter
    }
}

extension ControlAPI.NotificationReceiver {
    init(_ bundleID: BundleID, _ receiver: NotificationReceiver) {
        self.init(
            bundleId: bundleID.rawValue, url: receiver.address.text, redirectOrigins: receiver.redirectOrigins,
            version: Int(receiver.version.rawValue))
    }
}

extension ControlAPI.Notification {
    init(_ notification: ServerNotification) {
        self.init(
            number: String(notification.number), notificationUUID: notification.notificationID,
            notificationType: notification.type, subtype: notification.subtype,
            bundleId: notification.bundleID.rawValue,
            signedDate: ControlAPI.text(notification.date),
            originalTransactionId: notification.originalTransactionID?.description,
            transactionId: notification.transactionID?.description, state: notification.state.rawValue,
            nextAttemptDate: notification.nextAttemptDate.map { ControlAPI.text($0) },
            sendAttempts: notification.attempts.map {
                ControlAPI.SendAttempt(
                    attemptDate: ControlAPI.text($0.date), sendAttemptResult: $0.result.rawValue)
            }, signedPayload: notification.version == .two ? notification.signedPayload : nil,
            isSample: notification.isSample, version: Int(notification.version.rawValue),
            body: notification.version == .one ? notification.signedPayload : nil)
    }
}
