import CornerstoreEncoding
import Database
import Foundation
import MerchantWire
import StoreWire

/// The consent of users, and the requests that were queued for stores' APIs.
extension Merchant {
    /// The most requests that one round sends.
    public static let storeCallsRound = 16
    /// How long a store waits for consumption information, in milliseconds: 12 hours in production, and 5 minutes in
    /// the sandbox, by Apple's documentation.
    static func consumptionPatience(in environment: StoreEnvironment) -> Int64 {
        environment == .production ? 12 * 3_600_000 : 5 * 60_000
    }
    /// How long setting an account token is tried: 7 days, in milliseconds.
    static let accountTokenPatience: Int64 = 7 * 86_400_000
    /// How long a request belongs to the process that took it, in milliseconds. It is longer than the attempts of a
    /// round.
    static let storeCallLease: Int64 = 15 * 60_000
    /// The pause after a host was unavailable, for the requests of the round that were not sent, in milliseconds.
    static let hostPause: Int64 = 60_000
    /// How long settled requests are kept, in milliseconds: 200 days.
    static let storeCallsKeptFor: Int64 = 200 * 86_400_000

    /// Returns a user's consent to send consumption information to the store.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func consumptionConsent(of user: UserID) async throws -> ConsumptionConsent {
        try Self.checkName(user.rawValue)
        return try await database.read { try ConsumptionConsents.find(user, $0) }
            ?? ConsumptionConsent(userID: user, isGiven: false)
    }

    /// Records that a user gives or withdraws the consent, with the time of the change. After a withdrawal nothing is
    /// sent, also of requests that wait.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func setConsumptionConsent(of user: UserID, isGiven: Bool) async throws -> ConsumptionConsent {
        try Self.checkName(user.rawValue)
        let now = self.now()
        return try await database.write { connection in
            try ConsumptionConsents.set(user, isGiven, at: now, connection)
            return try ConsumptionConsents.find(user, connection)
                ?? ConsumptionConsent(userID: user, isGiven: isGiven, changedAt: now)
        }
    }

    /// Sends queued requests to a store's API that are due, one after the other, and records the results. Each request
    /// is repeated with growing pauses until the store has accepted or refused it, or it is too late.
    ///
    /// Each environment has a queue of its own, so that an unavailable host does not hold up the other environment's
    /// requests. An app's host that is unavailable is not asked again in the round. One that does not answer delays the
    /// other apps' requests to the environment by its time limit, once in the round.
    ///
    /// Without keys, it sends nothing and gives up the requests for which it is too late.
    /// - Parameters:
    ///   - limit: the most requests, 1 to ``storeCallsRound``.
    ///   - onDrop: called with each request that is given up.
    /// - Returns: the number of requests taken.
    /// - Throws: ``DatabaseError``, `CancellationError`.
    @discardableResult
    public func sendStoreCalls(
        to environment: StoreEnvironment, limit: Int = storeCallsRound,
        onDrop: @Sendable (DroppedStoreCall) -> Void = { _ in }
    ) async throws -> Int {
        let now = self.now()
        let limit = min(max(limit, 1), Self.storeCallsRound)
        guard let storeAPI, storeAPI.hasKeys else {
            let calls = try await database.read {
                try StoreCalls.overdue(to: environment, at: now, limit: limit, $0)
            }
            for call in calls { try await settle(call, "too late: the merchant has no key of the store's API", onDrop) }
            return calls.count
        }
        let calls = try await database.write {
            try StoreCalls.takeDue(
                to: environment, at: now, leaseEnd: now + Self.storeCallLease, limit: limit, $0)
        }
        // When the hosts of apps that are unavailable are asked again.
        var unavailable: [BundleID: Int64] = [:]
        for call in calls {
            try Task.checkCancellation()
            if let date = unavailable[call.bundleID] {
                try await database.write { try StoreCalls.putOff(call, to: date, $0) }
                continue
            }
            do {
                unavailable[call.bundleID] = try await send(call, storeAPI, onDrop)
            } catch let error where !(error is CancellationError) {
                // One request that cannot be made does not hold up the others.
                let due = self.now() + Self.pause(after: call.attempts + 1)
                try await database.write { try StoreCalls.postpone(call, to: due, "failed: \(type(of: error))", $0) }
            }
        }
        return calls.count
    }

    /// Removes requests that were settled 200 days ago.
    /// - Returns: the number of requests removed. When it is `limit`, there may be more.
    /// - Throws: ``DatabaseError``.
    public func pruneStoreCalls(limit: Int = 500) async throws -> Int {
        let end = now() - Self.storeCallsKeptFor
        return try await database.write { try StoreCalls.remove(settledBefore: end, limit: limit, $0) }
    }

    /// Sends a request, and records the result.
    /// - Returns: the time before which the app's host is not asked again; nil unless it is unavailable.
    private func send(
        _ call: StoreCall, _ storeAPI: any StoreAPI, _ onDrop: @Sendable (DroppedStoreCall) -> Void
    ) async throws -> Int64? {
        guard now() < call.endsAt else {
            try await settle(call, "too late", onDrop)
            return nil
        }
        guard let request = try await request(of: call) else {
            try await settle(call, DroppedStoreCall.noConsent, onDrop)
            return nil
        }
        do {
            _ = try await storeAPI.send(request, for: call.bundleID, in: call.environment)
            try await settle(call, "accepted")
            return nil
        } catch let error as StoreAPIError {
            let now = self.now()
            let retryAfter = Int64(error.retryAfter ?? 0) * 1_000
            let due = now + max(Self.pause(after: call.attempts + 1), retryAfter)
            let reason = "\(error.code.rawValue): \(error.detail)"
            if error.isTemporary, due < call.endsAt {
                try await database.write { try StoreCalls.postpone(call, to: due, reason, $0) }
            } else {
                try await settle(call, reason, onDrop)
            }
            return error.code == .unavailable ? now + max(Self.hostPause, retryAfter) : nil
        }
    }

    /// The pause after a number of failed attempts, in milliseconds: 1 minute, doubled up to 1 hour.
    private static func pause(after attempts: Int) -> Int64 {
        let doublings = min(max(attempts - 1, 0), 6)
        return min(Int64(60_000) << doublings, 3_600_000)
    }

    /// Records the end of a request.
    /// - Parameter onDrop: called with a request that is given up.
    private func settle(
        _ call: StoreCall, _ result: String, _ onDrop: @Sendable (DroppedStoreCall) -> Void = { _ in }
    ) async throws {
        let now = self.now()
        let isSettled = try await database.write { try StoreCalls.settle(call, result, at: now, $0) }
        if isSettled { onDrop(DroppedStoreCall(call, result)) }
    }

    /// Makes the request of a call from what the books say now; nil when the user has withdrawn the consent, or the
    /// merchant no longer answers.
    private func request(of call: StoreCall) async throws -> StoreAPIRequest? {
        switch call.kind {
        case .accountToken:
            let body = try JSONEncoder.compact.encode(["appAccountToken": AccountToken.token(of: call.userID)])
            return .accountToken(call.transactionID, body: Array(body))
        case .consumption:
            guard let policy = policy.consumption else { return nil }
            return try await database.read { connection -> StoreAPIRequest? in
                guard try ConsumptionConsents.find(call.userID, connection)?.isGiven == true else { return nil }
                let answer = try ConsumptionAnswer(call.purchase, policy, connection)
                return .consumption(call.transactionID, body: try answer.body)
            }
        }
    }
}

/// A request to a store's API that the merchant had promised and does not send any more.
public struct DroppedStoreCall: Sendable, Equatable {
    /// The reason for a user who has withdrawn the consent, or a merchant that no longer answers.
    static let noConsent = "no consent"

    /// The subject of the request: `consumption` or `accountToken`.
    public let kind: String
    /// The app in which the purchase was made.
    public let bundleID: BundleID
    /// The environment whose host was to receive the request.
    public let environment: StoreEnvironment
    /// The transaction that the request names.
    public let transactionID: String
    /// Why it was given up: the store's refusal, or that it is too late.
    public let reason: String

    init(_ call: StoreCall, _ reason: String) {
        kind = call.kind.rawValue
        bundleID = call.bundleID
        environment = call.environment
        transactionID = call.transactionID
        self.reason = reason
    }

    /// Whether the user or the merchant did not want it any more.
    public var isUnwanted: Bool { reason == Self.noConsent }
}

extension StoreCall {
    /// The request that tells the store what was consumed of a purchase; nil when the merchant does not answer: by
    /// policy, or because the purchase's user is not known or has not consented.
    /// - Parameters:
    ///   - notificationID: the store's question.
    ///   - key: the purchase's redemption key.
    static func consumption(
        of purchase: VerifiedPurchase, _ key: RedemptionKey, askedBy notificationID: String, _ policy: MerchantPolicy,
        at now: Int64, _ connection: Connection
    ) throws -> StoreCall? {
        guard policy.consumption != nil else { return nil }
        var user = try RedemptionRow.find(key.text, connection)?.userID ?? ""
        if user == "", let token = purchase.accountToken { user = try AccountToken.owner(token, connection) ?? "" }
        guard user != "", try ConsumptionConsents.find(user, connection)?.isGiven == true else { return nil }
        return StoreCall(
            id: "consumption/" + notificationID, kind: .consumption, userID: user, bundleID: purchase.bundleID,
            environment: purchase.environment, transactionID: purchase.transactionID, purchase: key.text,
            endsAt: now + Merchant.consumptionPatience(in: purchase.environment))
    }

    /// The request that sets the account token of a purchase that was redeemed by a user; nil when the purchase has
    /// one, or its evidence does not say. Only signed transactions do.
    static func accountToken(
        of purchase: VerifiedPurchase, _ key: RedemptionKey, _ user: UserID, _ policy: MerchantPolicy, at now: Int64
    ) -> StoreCall? {
        guard policy.setsAccountTokens, policy.conflict.isForOneUser, purchase.accountToken == nil,
            purchase.isUpgraded != nil, purchase.isShared != true
        else { return nil }
        let scope = RedemptionKey.scope(purchase.anchor, purchase.environment, purchase.bundleID)
        return StoreCall(
            id: "accountToken/\(scope)\(purchase.originalTransactionID)", kind: .accountToken, userID: user,
            bundleID: purchase.bundleID, environment: purchase.environment,
            transactionID: purchase.originalTransactionID, purchase: key.text,
            endsAt: now + Merchant.accountTokenPatience)
    }
}

extension ConflictPolicy {
    fileprivate var isForOneUser: Bool {
        if case .family = self { false } else { true }
    }
}
