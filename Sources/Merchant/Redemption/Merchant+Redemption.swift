import Database
import MerchantWire
import StoreWire

extension Merchant {
    /// The largest number of purchases that one database transaction redeems. On SQLite, a transaction blocks all other
    /// writers, so a longer receipt is redeemed in several transactions, oldest purchases first. Each transaction runs
    /// a few statements for each purchase and can be repeated.
    static let largestTransaction = 100

    /// How often purchases are planned for one request while the product list changes.
    private static let mostPlans = 20

    /// Verifies evidence and redeems all of its purchases, for the signed-in user or for the owner named by a purchase.
    ///
    /// A purchase and its grants are written in one database transaction, which up to ``largestTransaction`` purchases
    /// share. A repeated request gets the same answer.
    /// - Throws: ``MerchantError`` when the evidence is refused as a whole, or when none of its transactions could be
    ///   redeemed. In the second case, the error has the first transaction's reason.
    public func redeem(_ evidence: Evidence, for user: UserID) async throws -> RedemptionAnswer {
        let verified: VerifiedEvidence
        if let known = try verifier.verifyAtOnce(evidence) {
            verified = known
        } else {
            verified = try await verifier.verify(evidence)
        }
        return try await redeem(verified, for: user)
    }

    /// Redeems evidence without suspending, if its signer and its products are in memory.
    /// - Parameter completion: called once with the result of ``redeem(_:for:)-(Evidence,_)``, on a thread of the
    ///   database. It must return quickly. It also gets an error when the products in memory are no longer those of the
    ///   database; the caller then has to use ``redeem(_:for:)-(Evidence,_)``, which may follow any other error, too.
    /// - Returns: false when the caller has to use ``redeem(_:for:)-(Evidence,_)``; nothing was begun then.
    public func redeemAtOnce(
        _ evidence: Evidence, for user: UserID,
        completion: @escaping @Sendable (Result<RedemptionAnswer, any Error>) -> Void
    ) -> Bool {
        let times = self.times
        guard (try? Self.checkName(user.rawValue)) != nil, let catalog = productsInMemory(at: times.machine),
            let evidence = try? verifier.verifyAtOnce(evidence), !evidence.purchases.isEmpty,
            let items = try? plans(evidence.purchases, evidence.renewals, catalog, at: times),
            items.count <= Self.largestTransaction, items.allSatisfy(\.isPlan)
        else { return false }
        commit(.redemption, redemption(of: items, for: user, at: times, under: policy)) { result in
            completion(result.flatMap { answer in Result { try Self.unlessRefused(answer) } })
        }
        return true
    }

    /// Redeems verified evidence.
    /// - Parameter policy: nil for the merchant's.
    /// - Throws: as ``redeem(_:for:)-(Evidence,_)``.
    func redeem(
        _ evidence: VerifiedEvidence, for user: UserID, under policy: MerchantPolicy? = nil
    ) async throws -> RedemptionAnswer {
        try Self.checkName(user.rawValue)
        guard !evidence.purchases.isEmpty else { throw MerchantError(.nothingToRedeem) }
        let times = self.times
        return try await withPlans(of: evidence.purchases, evidence.renewals, at: times) { items in
            var answer = RedemptionAnswer(redeemed: [], refused: [])
            for start in stride(from: 0, to: items.count, by: Self.largestTransaction) {
                let part = Array(items[start..<min(start + Self.largestTransaction, items.count)])
                let partAnswer = try await commit(
                    .redemption, redemption(of: part, for: user, at: times, under: policy ?? self.policy))
                answer.redeemed += partAnswer.redeemed
                answer.refused += partAnswer.refused
            }
            return try Self.unlessRefused(answer)
        }
    }

    /// Returns the database transaction that redeems purchases. It throws ``ProductsChanged``.
    private func redemption(
        of items: [RedemptionItem], for user: UserID, at times: BookTimes, under policy: MerchantPolicy
    ) -> @Sendable (Connection) throws -> RedemptionAnswer {
        let writer = EventWriter(policy, id: makeID(), now: times.machine)
        return { connection in
            try Self.checkList(of: items, connection)
            let settlement = Settlement()
            let answer = try Redeemer(
                policy: policy, times: times, events: writer, settlement: settlement, connection: connection
            ).redeem(items, for: .user(user))
            try settlement.finish(connection)
            return answer
        }
    }

    private static func unlessRefused(_ answer: RedemptionAnswer) throws -> RedemptionAnswer {
        if answer.redeemed.isEmpty, let first = answer.refused.first {
            throw MerchantError(first.code, first.message)
        }
        return answer
    }

    /// Calls `body` with each purchase and its product. When the product list turns out to have changed
    /// (``checkList(of:_:)``), reads the list and calls `body` again. Everything in `body` can be repeated.
    /// - Parameter renewals: ``VerifiedEvidence/renewals``.
    /// - Throws: ``MerchantError`` `unavailable` when the list changes each time; the errors of `body`.
    func withPlans<T>(
        of purchases: [VerifiedPurchase], _ renewals: [String: RenewalStatement] = [:], at times: BookTimes,
        _ body: ([RedemptionItem]) async throws -> T
    ) async throws -> T {
        var items = try await plans(purchases, renewals, at: times)
        for _ in 0..<Self.mostPlans {
            do { return try await body(items) } catch is ProductsChanged {
                let catalog = try await reloadProducts(at: times.machine)
                items = try plans(purchases, renewals, catalog, at: times)
            }
        }
        throw MerchantError(.unavailable, "The product list is changing. Try again.", retryAfter: 1)
    }

    /// Combines each purchase with its product, before the database transaction.
    private func plans(
        _ purchases: [VerifiedPurchase], _ renewals: [String: RenewalStatement], at times: BookTimes
    ) async throws -> [RedemptionItem] {
        var catalog = try await products(at: times.machine)
        if purchases.contains(where: { catalog.entry($0.bundleID, $0.productID) == nil }) {
            // Another process may have added the product a moment ago.
            catalog = try await reloadProducts(at: times.machine)
        }
        return try plans(purchases, renewals, catalog, at: times)
    }

    private func plans(
        _ purchases: [VerifiedPurchase], _ renewals: [String: RenewalStatement], _ catalog: ProductCatalog,
        at times: BookTimes
    ) throws -> [RedemptionItem] {
        // Oldest first, so that a plan that was replaced is ended before its replacement is granted.
        let sorted = purchases.sorted {
            ($0.purchasedAt, $0.periodNumber ?? 0) < ($1.purchasedAt, $1.periodNumber ?? 0)
        }
        let newest =
            renewals.isEmpty
            ? [:]
            : Dictionary(
                sorted.map { ($0.originalTransactionID, $0.transactionID) }, uniquingKeysWith: { $1 })
        return try sorted.map { purchase in
            guard let entry = catalog.entry(purchase.bundleID, purchase.productID) else {
                return .unknown(purchase)
            }
            var plan = try RedemptionPlan(purchase, entry, policy, at: times[purchase.environment])
            // The store states the renewal of a subscription after its newest period.
            if newest[purchase.originalTransactionID] == purchase.transactionID {
                plan.statement = renewals[purchase.originalTransactionID]
            }
            if plan.obstacle == .wrongKind {
                kindMismatches.report(purchase, listed: plan.kind, at: times.machine)
            }
            return .plan(plan)
        }
    }
}

/// A purchase to be redeemed.
enum RedemptionItem: Sendable {
    case plan(RedemptionPlan)
    /// The merchant does not sell the product.
    case unknown(VerifiedPurchase)

    var purchase: VerifiedPurchase {
        switch self {
        case .plan(let plan): plan.purchase
        case .unknown(let purchase): purchase
        }
    }

    var isPlan: Bool {
        if case .plan = self { true } else { false }
    }
}
