import Database
import MerchantWire
import StoreWire

/// Redeems purchases inside one database transaction.
struct Redeemer {
    let policy: MerchantPolicy
    let now: Int64
    let events: EventWriter
    /// The changes that are put off to the end of the transaction. The caller finishes it.
    let settlement: Settlement
    let connection: Connection

    /// The result for one purchase.
    private enum Outcome {
        case redeemed(RedeemedTransaction)
        case refused(MerchantErrorCode)
        /// The purchase, which a notification reported, has no known owner yet. An app may redeem it later.
        case waiting
    }

    /// Redeems purchases and answers in their order, whatever proved them: a receipt, a signed transaction, or a
    /// notification. This is the only way to redeem.
    ///
    /// Subscriptions and other purchases are locked in the order of their keys (see ``Settlement``). The periods of one
    /// subscription are redeemed in the given order.
    /// - Parameters:
    ///   - items: the purchases, oldest first.
    ///   - claimant: the user whose app sent the purchases, or the store.
    func redeem(_ items: [RedemptionItem], for claimant: Claimant) throws -> RedemptionAnswer {
        var plans: [(index: Int, plan: RedemptionPlan)] = []
        for case (let index, .plan(var plan)) in items.enumerated() {
            try plan.recall(connection)
            plans.append((index, plan))
        }
        var outcomes: [Int: Outcome] = [:]
        let groups = Dictionary(grouping: plans) { $0.plan.lockName }
        for (name, group) in groups.sorted(by: { $0.key < $1.key }) {
            if group[0].plan.product.kind == .autoRenewableSubscription { try SubscriptionRow.lock(name, connection) }
            for (index, plan) in group { outcomes[index] = try redeem(plan, for: claimant) }
        }
        return answer(items, outcomes)
    }

    private func answer(_ items: [RedemptionItem], _ outcomes: [Int: Outcome]) -> RedemptionAnswer {
        var answer = RedemptionAnswer(redeemed: [], refused: [])
        for (index, item) in items.enumerated() {
            switch outcomes[index] {
            case .redeemed(let transaction): answer.redeemed.append(transaction)
            case .refused(let code): answer.refuse(item.purchase, code)
            case .waiting: break
            case nil: answer.refuse(item.purchase, .unknownProduct)
            }
        }
        return answer
    }

    private func redeem(_ plan: RedemptionPlan, for claimant: Claimant) throws -> Outcome {
        let known = try SubscriptionRow.find(of: plan, connection)
        let owner = try PurchaseOwner(of: plan.purchase, known, claimant) { try AccountToken.owner($0, connection) }
        switch (owner, claimant) {
        case (.user(let owner), .user(let user)): return try redeem(plan, known, ownedBy: owner, askedBy: user)
        case (.user(let owner), .store): return try redeem(plan, known, ownedBy: owner, askedBy: owner)
        case (.stranger, _):
            if let known { try unassign(plan, known) }
            return .waiting
        case (.unknown, _): return .waiting
        }
    }

    /// Redeems one purchase for its owner.
    /// - Parameters:
    ///   - known: the subscription's row, if there is one.
    ///   - user: the user who sent the request.
    private func redeem(
        _ plan: RedemptionPlan, _ known: SubscriptionRow?, ownedBy owner: UserID, askedBy user: UserID
    ) throws -> Outcome {
        var plan = plan
        if let known { plan.learn(from: known, at: now) }
        if let obstacle = plan.obstacle {
            if plan.isRefund { try revocation(plan.purchase, plan.key, plan.product.kind).revoke() }
            if plan.product.kind == .autoRenewableSubscription { try recordEndedPeriod(plan, known, owner, obstacle) }
            return try answerAgain(plan, owner, user, obstacle)
        }
        if plan.product.kind == .autoRenewableSubscription {
            // A refunded period does not decide who owns the subscription.
            let period = try RedemptionRow.find(plan.key.text, connection)
            if period?.state == .revoked { return .refused(.revoked) }
            if period?.userID == "", try !downloads.allowRedemption(of: plan, by: owner) {
                return .refused(.alreadyRedeemed)
            }
            switch try enterSubscription(plan, known, owner) {
            case .own: break
            case .guest(let members): return try joinFamily(plan, members, owner, user)
            case .refused(let code): return .refused(code)
            }
        }
        if try RedemptionRow.insert(plan, key: plan.key.text, for: owner, at: now, connection) {
            return try grant(plan, to: owner, askedBy: user)
        }
        guard let row = try RedemptionRow.find(plan.key.text, connection) else { return .refused(.unavailable) }
        if row.state == .revoked { return .refused(.revoked) }
        if row.userID == owner { return again(plan, row, user) }
        if row.userID.rawValue.isEmpty {
            guard try downloads.allowRedemption(of: plan, by: owner) else { return .refused(.alreadyRedeemed) }
            guard try RedemptionRow.claim(plan, key: row.key, for: owner, at: now, connection) else {
                return .refused(.unavailable)
            }
            return try grant(plan, to: owner, askedBy: user)
        }
        return try settleConflict(plan, row, owner, user)
    }

    private var downloads: EvidenceDownloads {
        EvidenceDownloads(policy: policy, now: now, connection: connection)
    }

    private func again(_ plan: RedemptionPlan, _ row: RedemptionRow, _ user: UserID) -> Outcome {
        .redeemed(
            plan.answer(
                redeemedAt: row.redeemedAt, expiresAt: row.expiresAt, grants: row.grants,
                wentToNamedOwner: row.userID != user))
    }

    /// The operation that takes a purchase's grants back. Evidence may be the first to report a refund: a notification
    /// can be late, and the merchant of an iOS 6 app gets none.
    private func revocation(
        _ purchase: VerifiedPurchase, _ key: RedemptionKey, _ kind: ProductKind
    ) -> Revocation {
        Revocation(
            purchase: purchase, kind: kind, key: key, signedAt: purchase.signedAt, policy: policy, now: now,
            events: events, settlement: settlement, connection: connection)
    }

    /// Updates the subscription from a period that has ended.
    private func recordEndedPeriod(
        _ plan: RedemptionPlan, _ known: SubscriptionRow?, _ owner: UserID, _ obstacle: MerchantErrorCode
    ) throws {
        guard let expiresAt = plan.expiresAt else { return }
        let purchase = plan.purchase
        if obstacle == .expired, let known,
            try RedemptionRow.find(plan.key.text, connection)?.state != .revoked,
            // The user who bought the subscription anew also gets the later periods. A plan replaced another one even
            // if it has ended itself.
            try handOver(purchase, known, to: owner) || known.isReplaced(by: purchase)
        {
            try advance(plan, known, expiresAt)
        }
        if purchase.isUpgraded == true {
            try supersede(
                plan.key, purchase, from: purchase.purchasedAt, to: expiresAt,
                at: purchase.revokedAt ?? purchase.signedAt)
        }
    }

    /// Records a newer period. The rights of another plan, for every user who has them, end when the new plan begins.
    /// Takes back the credits of a period that it replaces before that period's end.
    private func advance(_ plan: RedemptionPlan, _ row: SubscriptionRow, _ expiresAt: Int64) throws {
        let purchase = plan.purchase
        guard row.isAdvanced(by: purchase) else { return }
        let key = RedemptionKey.subscription(purchase)
        if purchase.productID != row.productID {
            settlement.afterPostings {
                try Rights.endPlan(row.productID, from: key, at: purchase.purchasedAt, connection)
            }
        }
        if !row.isRecorded(purchase, expiresAt: expiresAt) {
            try SubscriptionRow.advance(key, purchase, period: plan.key, expiresAt: expiresAt, connection)
        }
        if row.isReplaced(by: purchase), let period = row.periodKey {
            try supersede(
                RedemptionKey(text: period), purchase, from: row.purchasedAt, to: row.expiresAt,
                at: purchase.purchasedAt)
        }
    }

    /// Takes back the credits of a period that another plan has replaced.
    /// - Parameters:
    ///   - period: the period's redemption key.
    ///   - purchase: any purchase of the subscription.
    ///   - moment: the start of the other plan, or a later time.
    private func supersede(
        _ period: RedemptionKey, _ purchase: VerifiedPurchase, from start: Int64, to end: Int64, at moment: Int64
    ) throws {
        let share: Share
        switch policy.superseded {
        case .keep: return
        case .takeBack: share = .all
        case .prorate: share = Share(part: end - moment, whole: end - start)
        }
        try revocation(purchase, period, .autoRenewableSubscription).supersede(share, at: moment)
    }

    /// Repeats the answer of an ended purchase to the user who redeemed it in time, and refuses it to others.
    private func answerAgain(
        _ plan: RedemptionPlan, _ owner: UserID, _ user: UserID, _ obstacle: MerchantErrorCode
    ) throws -> Outcome {
        // A family member may have redeemed the purchase before its first user.
        for key in plan.key.places(policy.members) {
            guard let row = try RedemptionRow.find(key, connection) else { continue }
            if row.state == .granted, row.userID == owner { return again(plan, row, user) }
        }
        return .refused(obstacle)
    }

    // MARK: Granting

    private func grant(_ plan: RedemptionPlan, to owner: UserID, askedBy user: UserID) throws -> Outcome {
        for grant in plan.grants {
            switch grant {
            case .credits(let currency, let amount, let lifetime):
                let account = policy.account(currency, boughtIn: plan.purchase.environment)
                settlement.grant(plan.key.text, to: owner, account) { [now, connection] in
                    try Ledger.credit(
                        owner, account.name, amount, .grant, reference: plan.key.text,
                        expiresAt: lifetime.map { now + $0 * 1_000 }, at: now, connection)
                }
            case .entitlement, .content: giveRight(grant, plan, to: owner)
            }
        }
        try events.write(.redeemed(plan, owner), connection)
        return .redeemed(
            plan.answer(
                redeemedAt: now, expiresAt: plan.expiresAt, grants: plan.grants,
                wentToNamedOwner: owner != user))
    }

    private func giveRight(_ grant: ProductGrant, _ plan: RedemptionPlan, to owner: UserID) {
        guard let right = Right(grant) else { return }
        let isSubscription = plan.product.kind == .autoRenewableSubscription
        var lifetime: Int64?
        if case .entitlement(_, let seconds?) = grant { lifetime = seconds * 1_000 }
        settlement.afterPostings { [lifetime, settlement, connection] in
            try Rights.give(
                right, to: owner,
                from: isSubscription ? RedemptionKey.subscription(plan.purchase) : plan.key.text, plan.purchase,
                expiresAt: plan.expiresAt, lifetime: lifetime, grantedBy: plan.key.text, settlement, connection)
        }
    }

    // MARK: Subscriptions

    /// The relation of a user to a subscription.
    private enum Subscriber {
        case own
        /// Another user has the subscription and may share it, with so many users in all.
        case guest(members: Int)
        case refused(MerchantErrorCode)
    }

    /// Records the subscription for the owner, or finds that another user has it.
    /// - Parameter row: the subscription's row, if there is one.
    private func enterSubscription(
        _ plan: RedemptionPlan, _ row: SubscriptionRow?, _ owner: UserID
    ) throws -> Subscriber {
        let key = RedemptionKey.subscription(plan.purchase)
        guard let expiresAt = plan.expiresAt else { return .refused(.malformedReceipt) }
        guard let row else {
            try SubscriptionRow.insert(
                key, plan.purchase, period: plan.key, expiresAt: expiresAt, for: owner, connection)
            return .own
        }
        var subscriber = Subscriber.own
        let isHandedOver = try handOver(plan.purchase, row, to: owner)
        switch row.userID {
        case owner: break
        case "":
            // An earlier period does not decide who owns the current one.
            if row.isBefore(plan.purchase) || row.isPeriod(of: plan.purchase) {
                try SubscriptionRow.claim(key, for: owner, connection)
            }
        case _ where isHandedOver: break
        default:
            switch policy.conflict {
            case .refuse: return .refused(.alreadyRedeemed)
            case .family: subscriber = .guest(members: policy.members)
            case .transfer:
                settlement.afterPostings {
                    try Rights.transfer(key, from: row.userID, to: owner, at: now, settlement, connection)
                }
                try setUser(key, from: row.userID, to: owner)
            }
        }
        try advance(plan, row, expiresAt)
        // The store may have extended a known period.
        if row.isPeriod(of: plan.purchase), expiresAt > row.expiresAt {
            settlement.afterPostings { try Rights.extend(plan.purchase, from: key, to: expiresAt, connection) }
        }
        return subscriber
    }

    /// Unassigns a subscription that was bought anew with the token of an unknown user. It belongs to nobody, renewals
    /// included, until that user redeems it.
    private func unassign(_ plan: RedemptionPlan, _ row: SubscriptionRow) throws {
        guard plan.obstacle == nil || plan.obstacle == .expired, let expiresAt = plan.expiresAt,
            try RedemptionRow.find(plan.key.text, connection)?.state != .revoked
        else { return }
        let key = RedemptionKey.subscription(plan.purchase)
        settlement.afterPostings { try Rights.setGrace(row, from: key, until: nil, connection) }
        try SubscriptionRow.transfer(key, to: "", connection)
        try advance(plan, row, expiresAt)
    }

    /// Assigns a subscription that was bought anew to the user named by the new purchase, otherwise to the first user
    /// who redeems it. Returns false when the subscription was not bought anew. Rights from before end as they would
    /// have ended.
    private func handOver(_ purchase: VerifiedPurchase, _ row: SubscriptionRow, to owner: UserID) throws -> Bool {
        guard row.userID != "", row.userID != owner, row.isBoughtAnew(by: purchase),
            purchase.names(owner) || row.hasAnotherName(than: purchase)
        else { return false }
        let key = RedemptionKey.subscription(purchase)
        settlement.afterPostings { try Rights.setGrace(row, from: key, until: nil, connection) }
        try setUser(key, from: row.userID, to: owner)
        return true
    }

    private func setUser(_ key: String, from user: UserID, to owner: UserID) throws {
        try SubscriptionRow.transfer(key, to: owner, connection)
        try events.write(.transferred(key, from: user, to: owner), connection)
    }

    // MARK: Conflicts

    private func settleConflict(
        _ plan: RedemptionPlan, _ row: RedemptionRow, _ owner: UserID, _ user: UserID
    ) throws -> Outcome {
        guard plan.product.kind != .consumable else { return .refused(.alreadyRedeemed) }
        switch policy.conflict {
        case .refuse: return .refused(.alreadyRedeemed)
        case .transfer:
            // Credits stay with the first user.
            let rights = row.grants.filter { !$0.isCredits }
            guard try row.transfer(rights, to: owner, connection) else { return .refused(.unavailable) }
            // A subscription's rights were transferred with the subscription.
            if plan.product.kind != .autoRenewableSubscription {
                settlement.afterPostings {
                    try Rights.revoke(of: row.userID, from: row.key, at: now, settlement, connection)
                    // A former owner may get the purchase back.
                    try Rights.reinstate(of: owner, from: row.key, settlement, connection)
                }
            }
            for grant in rights { giveRight(grant, plan, to: owner) }
            try events.write(.transferred(row.key, from: row.userID, to: owner), connection)
            return .redeemed(
                plan.answer(
                    redeemedAt: row.redeemedAt, expiresAt: row.expiresAt, grants: rights,
                    wentToNamedOwner: owner != user))
        case .family: return try joinFamily(plan, policy.members, owner, user)
        }
    }

    /// Takes one of the other places of a shared purchase. Only the first user gets credits.
    private func joinFamily(
        _ plan: RedemptionPlan, _ members: Int, _ owner: UserID, _ user: UserID
    ) throws -> Outcome {
        var shared = plan
        shared.grants = plan.grants.filter { !$0.isCredits }
        shared.grantsJSON = try ProductCatalog.json(shared.grants)
        guard try downloads.allowRedemption(of: plan, by: owner) else { return .refused(.alreadyRedeemed) }
        for place in plan.key.places(members).dropFirst() {
            if try RedemptionRow.insert(shared, key: place, for: owner, at: now, connection) {
                return try grant(shared, to: owner, askedBy: user)
            }
            if let row = try RedemptionRow.find(place, connection), row.userID == owner {
                return row.state == .revoked ? .refused(.revoked) : again(shared, row, user)
            }
        }
        return .refused(.alreadyRedeemed)
    }
}

extension ProductGrant {
    var isCredits: Bool {
        if case .credits = self { true } else { false }
    }
}

extension MerchantPolicy {
    /// The number of users who may share one purchase.
    var members: Int {
        if case .family(let members) = conflict { min(max(members, 1), RedemptionKey.mostPlaces) } else { 1 }
    }
}

extension RedemptionAnswer {
    mutating func refuse(_ purchase: VerifiedPurchase, _ code: MerchantErrorCode) {
        refused.append(
            RefusedTransaction(
                transactionID: purchase.transactionID, productID: purchase.productID, code: code,
                message: code.text ?? code.rawValue))
    }
}
