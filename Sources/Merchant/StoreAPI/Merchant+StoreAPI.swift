import CornerstoreEncoding
import MerchantWire
import StoreWire

extension Merchant {
    /// The most bytes of a transaction's identifier. Those of stores have 16.
    private static let longestTransactionID = 64
    private static let transactionIDCharacters = ASCIICharacters.alphanumeric

    /// Redeems a transaction that the store is asked about: production first, then the sandbox, as Apple recommends.
    /// For a subscription, the store's state of it is asked for, too, and the newest period is redeemed with the named
    /// one.
    /// - Parameters:
    ///   - id: the store's identifier of the transaction.
    ///   - bundleID: the app; nil when the merchant has one app.
    /// - Throws: ``MerchantError`` as ``redeem(_:for:)-(Evidence,_)``, and `unknown_transaction`, `no_store_key`,
    ///   `store_unavailable`.
    public func redeem(
        transactionID id: String, in bundleID: BundleID? = nil, for user: UserID
    ) async throws -> RedemptionAnswer {
        try Self.checkName(user.rawValue)
        guard (1...Self.longestTransactionID).contains(id.utf8.count),
            id.utf8.allSatisfy({ Self.transactionIDCharacters.contains($0) })
        else { throw MerchantError(.invalidRequest, "“transactionId” is not an identifier of a transaction.") }
        guard let app = bundleID ?? verifier.onlyApp else {
            throw MerchantError(.invalidRequest, "The merchant has several apps. Name one in “bundleId”.")
        }
        guard verifier.takes(app) else { throw MerchantError(.wrongApp) }
        do {
            let evidence = try await evidence(of: id, in: app)
            return try await redeem(evidence, for: user, under: try await policyForIdentifier(of: evidence, user))
        } catch let error as StoreAPIError {
            throw MerchantError(error)
        }
    }

    /// The policy for evidence that a user only named. Identifiers can be guessed, so one takes no purchase from
    /// another user, and none that names a user who is not known here.
    /// - Throws: ``MerchantError`` `already_redeemed`; ``DatabaseError``.
    private func policyForIdentifier(of evidence: VerifiedEvidence, _ user: UserID) async throws -> MerchantPolicy {
        let others = evidence.purchases.filter { !$0.names(user) }
        guard !others.isEmpty else { return policy }
        let tokens = others.compactMap(\.accountToken)
        let areKnown = try await database.read { connection in
            try tokens.allSatisfy { try AccountToken.owner($0, connection) != nil }
        }
        guard areKnown else { throw MerchantError(.alreadyRedeemed) }
        var policy = policy
        policy.conflict = .refuse
        policy.setsAccountTokens = false
        return policy
    }

    /// Asks a store about a transaction.
    private func evidence(of id: String, in app: BundleID) async throws -> VerifiedEvidence {
        let (purchase, api) = try await transaction(id, in: app)
        var purchases = [purchase]
        var renewals: [String: RenewalStatement] = [:]
        if purchase.statedKind == .autoRenewableSubscription {
            let original = purchase.originalTransactionID
            let body = try await api.send(.statuses(id), for: app, in: purchase.environment)
            if let status = try await verifier.verifyStatus(body, of: original, app, purchase.environment),
                status.purchase.anchor == purchase.anchor
            {
                if status.purchase.transactionID != purchase.transactionID { purchases.append(status.purchase) }
                renewals[original] = RenewalStatement(status.notification)
            }
        }
        return VerifiedEvidence(
            environment: purchase.environment, bundleID: app, purchases: purchases, renewals: renewals)
    }

    private func transaction(_ id: String, in app: BundleID) async throws -> (VerifiedPurchase, any StoreAPI) {
        guard let storeAPI, storeAPI.hasKeys else { throw MerchantError(.noStoreKey) }
        var failure = StoreAPIError(.unknownTransaction, "the merchant accepts no environment")
        var isUnknown = false
        for environment in [StoreEnvironment.production, .sandbox] where policy.environments.contains(environment) {
            do {
                let body = try await storeAPI.send(.transaction(id), for: app, in: environment)
                return (try await verifier.verifyTransactionInfo(body, of: id, app, environment), storeAPI)
            } catch var error as StoreAPIError {
                error.isUnknownElsewhere = isUnknown
                isUnknown = isUnknown || error.code == .unknownTransaction
                // Apple's production host refuses the keys of an app that was never released.
                guard error.code == .unknownTransaction || error.code == .unauthorized else { throw error }
                failure = error
            }
        }
        throw failure
    }
}

extension MerchantError {
    /// Creates the error that apps receive when the store's API could not be asked.
    init(_ error: StoreAPIError) {
        switch error.code {
        case .unknownTransaction: self.init(.unknownTransaction)
        case .noKey: self.init(.noStoreKey)
        case .unauthorized:
            self.init(.noStoreKey, "The store refuses the merchant's API key of this app.")
        case .refused, .unavailable, .malformedAnswer:
            self.init(.storeUnavailable, "The store is unavailable. Try again later.", retryAfter: error.retryAfter)
        }
        reason = error.detail
        isUnknownTransaction = error.code == .unknownTransaction || error.isUnknownElsewhere
    }
}
