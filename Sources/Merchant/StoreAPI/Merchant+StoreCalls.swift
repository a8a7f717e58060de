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

    /// Sends queued requests that are due, one after the other, and records the results. Each request is repeated with
    /// growing pauses until the store has accepted or refused it, or it is too late.
    /// - Parameter limit: the most requests, 1 to ``storeCallsRound``.
    /// - Returns: the number of requests taken.
    /// - Throws: ``DatabaseError``, `CancellationError`.
    @discardableResult
    public func sendStoreCalls(limit: Int = storeCallsRound) async throws -> Int {
        guard let storeAPI, storeAPI.hasKeys else { return 0 }
        let now = self.now()
        let limit = min(max(limit, 1), Self.storeCallsRound)
        let calls = try await database.write {
            try StoreCalls.takeDue(at: now, leaseEnd: now + Self.storeCallLease, limit: limit, $0)
        }
        for call in calls {
            try Task.checkCancellation()
            do {
                try await send(call, storeAPI)
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
    public func pruneStoreCalls(limit: Int = 500) async throws -> Int {
        let end = now() - Self.storeCallsKeptFor
        return try await database.write { try StoreCalls.remove(settledBefore: end, limit: limit, $0) }
    }

    private func send(_ call: StoreCall, _ storeAPI: any StoreAPI) async throws {
        guard now() < call.endsAt else { return try await settle(call, "too late") }
        guard let request = try await request(of: call) else { return try await settle(call, "no consent") }
        do {
            _ = try await storeAPI.send(request, for: call.bundleID, in: call.environment)
            try await settle(call, "accepted")
        } catch let error as StoreAPIError {
            let now = self.now()
            let due = now + max(Self.pause(after: call.attempts + 1), Int64(error.retryAfter ?? 0) * 1_000)
            guard error.isTemporary, due < call.endsAt else {
                return try await settle(call, "\(error.code.rawValue): \(error.detail)")
            }
            let reason = "\(error.code.rawValue): \(error.detail)"
            try await database.write { try StoreCalls.postpone(call, to: due, reason, $0) }
        }
    }

    /// The pause after a number of failed attempts, in milliseconds: 1 minute, doubled up to 1 hour.
    private static func pause(after attempts: Int) -> Int64 {
        let doublings = min(max(attempts - 1, 0), 6)
        return min(Int64(60_000) << doublings, 3_600_000)
    }

    private func settle(_ call: StoreCall, _ result: String) async throws {
        let now = self.now()
        try await database.write { try StoreCalls.settle(call, result, at: now, $0) }
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
