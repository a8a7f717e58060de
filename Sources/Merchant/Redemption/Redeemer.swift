import Database
import MerchantWire
import StoreWire

/// Redeems purchases inside one database transaction.
struct Redeemer {
    let policy: MerchantPolicy
    let times: BookTimes
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
        var plans: [(lockName: String, index: Int, plan: RedemptionPlan)] = []
        for case (let index, .plan(var plan)) in items.enumerated() {
            try plan.recall(connection)
            plans.append((plan.lockName, index, plan))
        }
        plans.sort { ($0.lockName, $0.index) < ($1.lockName, $1.index) }
        var outcomes = [Outcome?](repeating: nil, count: items.count)
        var locked: String?
        for (name, index, var plan) in plans {
            if plan.kind == .autoRenewableSubscription, name != locked {
                try SubscriptionRow.lock(name, connection)
                locked = name
            }
            outcomes[index] = try redeem(&plan, for: claimant)
        }
        return answer(items, outcomes)
    }

    private func answer(_ items: [RedemptionItem], _ outcomes: [Outcome?]) -> RedemptionAnswer {
        var answer = RedemptionAnswer(redeemed: [], refused: [])
        for (index, outcome) in outcomes.enumerated() {
            switch outcome {
            case .redeemed(let transaction): answer.redeemed.append(transaction)
            case .refused(let code): answer.refuse(items[index].purchase, code)
            case .waiting: break
            case nil: answer.refuse(items[index].purchase, .unknownProduct)
            }
        }
        return answer
    }

    private func redeem(_ plan: inout RedemptionPlan, for claimant: Claimant) throws -> Outcome {
        let known = try record(&plan, from: claimant)
        let owner = try PurchaseOwner(of: plan.purchase, plan.key, known, claimant) {
            try AccountToken.owner($0, connection)
        }
        switch (owner, claimant) {
        case (.user(let owner), .user(let user)):
            let outcome = try redeem(plan, known, ownedBy: owner, askedBy: user)
            if case .redeemed = outcome, owner == user,
                let call = StoreCall.accountToken(of: plan.purchase, plan.key, user, policy, at: times.machine)
            {
                // The store's notifications name the user by this token. A user's purchases share its row, which is
                // therefore locked after everything else.
                let now = times.machine
                settlement.afterRights { [connection] in
                    try AccountToken.register(user, connection)
                    try StoreCalls.insert(call, at: now, connection)
                }
            }
            return outcome
        case (.user(let owner), .store): return try redeem(plan, known, ownedBy: owner, askedBy: owner)
        case (.stranger, _):
            if let known { try unassign(plan, known) }
            return .waiting
        case (.unknown, _):
            // No app can redeem a purchase of the wrong kind later, unless it was redeemed before.
            let isRefused =
                try plan.obstacle == .wrongKind
                && !RedemptionRow.findAll(plan.key, connection).contains { $0.state == .granted }
            return isRefused ? .refused(.wrongKind) : .waiting
        }
    }

    /// The time of the purchase's store.
    private func time(of plan: RedemptionPlan) -> Int64 { times[plan.purchase.environment] }

    /// Adds the facts that a purchase proves to its subscription, and the subscription's to the plan.
    /// - Returns: the subscription; nil for a purchase of another kind.
    private func record(_ plan: inout RedemptionPlan, from claimant: Claimant) throws -> SubscriptionRow? {
        guard plan.kind == .autoRenewableSubscription else { return nil }
        var row = try record(plan.facts, about: plan.purchase)
        // The store's notifications state reversals themselves.
        if case .user = claimant, let facts = row?.facts, facts.isRefunded(plan.key),
            let refund = facts[plan.key]?.refund, plan.provesReversal(ofRefundSignedAt: refund.signedAt)
        {
            let purchase = plan.purchase
            row = try record(
                Subscription(refundOf: purchase, plan.key, isReversal: true, signedAt: purchase.signedAt),
                about: purchase)
            try revocation(purchase, plan.key, plan.kind).reinstate()
        }
        if let row { plan.learn(from: row.facts, policy, at: time(of: plan)) }
        return row
    }

    /// Adds facts to a subscription. Takes back the credits of periods that another plan replaced before their end.
    /// - Parameter purchase: a purchase of the subscription.
    /// - Returns: the subscription; nil when nothing is known of it.
    @discardableResult
    func record(_ facts: Subscription, about purchase: VerifiedPurchase) throws -> SubscriptionRow? {
        let key = RedemptionKey.subscription(purchase)
        let known = try settlement.subscription(key, connection)
        var row = known ?? SubscriptionRow(key: key)
        row.facts.merge(facts)
        guard row.facts != known?.facts, row.facts.periods != [] else { return known }
        try settlement.keep(row, connection)
        for replacement in row.facts.replacements(missingIn: known?.facts) {
            try revocation(purchase, replacement.key, .autoRenewableSubscription).supersede(replacement)
        }
        return row
    }

    /// Redeems one purchase for its owner.
    /// - Parameters:
    ///   - known: the subscription with this purchase; nil for a purchase of another kind.
    ///   - user: the user who sent the request.
    private func redeem(
        _ plan: RedemptionPlan, _ known: SubscriptionRow?, ownedBy owner: UserID, askedBy user: UserID
    ) throws -> Outcome {
        if let obstacle = plan.obstacle {
            if plan.isRefund { try revocation(plan.purchase, plan.key, plan.kind).revoke() }
            // A plan that is over may have been bought by another user, who also gets the later periods.
            if obstacle == .expired, var known, !known.facts.isRefunded(plan.key) {
                try handOver(plan, &known, to: owner)
                known.decide(by: plan.key)
                try settlement.keep(known, connection)
            }
            return try answerAgain(plan, owner, user, obstacle)
        }
        if plan.kind == .autoRenewableSubscription {
            guard let known else { return .refused(.malformedReceipt) }
            // A refunded period does not decide who owns the subscription.
            let period = try RedemptionRow.find(plan.key.text, connection)
            if period?.state == .revoked { return .refused(.revoked) }
            if period?.userID == "", try !downloads.allowRedemption(of: plan, by: owner) {
                return .refused(.alreadyRedeemed)
            }
            switch try enterSubscription(plan, known, owner) {
            case .own: break
            case .guest(let members): return try joinFamily(plan, members, owner, user)
            case .refused(let code): return try answerAgain(plan, owner, user, code)
            }
        }
        if try RedemptionRow.insert(plan, key: plan.key.text, for: owner, at: time(of: plan), connection) {
            return try grant(plan, to: owner, askedBy: user)
        }
        guard let row = try RedemptionRow.find(plan.key.text, connection) else { return .refused(.unavailable) }
        if try staysRevoked(row, plan) { return .refused(.revoked) }
        if row.userID == owner { return again(plan, row, user) }
        if row.userID.rawValue.isEmpty {
            guard try downloads.allowRedemption(of: plan, by: owner) else { return .refused(.alreadyRedeemed) }
            guard try RedemptionRow.claim(plan, key: row.key, for: owner, at: time(of: plan), connection) else {
                return .refused(.unavailable)
            }
            return try grant(plan, to: owner, askedBy: user)
        }
        return try settleConflict(plan, row, owner, user)
    }

    private var downloads: EvidenceDownloads {
        EvidenceDownloads(policy: policy, now: times.machine, connection: connection)
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
            purchase: purchase, kind: kind, key: key, signedAt: purchase.signedAt, policy: policy, times: times,
            events: events, settlement: settlement, connection: connection)
    }

    /// Whether a redemption is revoked and stays so. Reverses the refund when the evidence proves that the store has:
    /// the notification about it may be lost.
    private func staysRevoked(_ row: RedemptionRow, _ plan: RedemptionPlan) throws -> Bool {
        guard row.state == .revoked else { return false }
        guard plan.provesReversal(ofRefundSignedAt: row.stateSignedAt) else { return true }
        try revocation(plan.purchase, plan.key, plan.kind).reinstate()
        return false
    }

    /// Repeats the answer to a user who has redeemed the purchase, under whichever policy, and refuses it to others.
    private func answerAgain(
        _ plan: RedemptionPlan, _ owner: UserID, _ user: UserID, _ obstacle: MerchantErrorCode
    ) throws -> Outcome {
        // A family member may have redeemed the purchase before its first user.
        let rows = try RedemptionRow.findAll(plan.key, connection)
        guard let row = rows.first(where: { $0.userID == owner && $0.state == .granted }) else {
            return .refused(obstacle)
        }
        return again(plan, row, user)
    }

    // MARK: Granting

    private func grant(_ plan: RedemptionPlan, to owner: UserID, askedBy user: UserID) throws -> Outcome {
        for grant in plan.grants {
            switch grant {
            case .credits(let currency, let amount, let lifetime):
                let account = policy.account(currency, boughtIn: plan.purchase.environment)
                let (key, now) = (plan.key.text, times[account.environment])
                settlement.grant(key, to: owner, account) { [connection] in
                    try Ledger.credit(
                        owner, account.name, amount, .grant, reference: key,
                        expiresAt: lifetime.map { now + $0 * 1_000 }, at: now, connection)
                }
            case .entitlement, .content: giveRight(grant, plan, to: owner)
            }
        }
        if plan.kind == .autoRenewableSubscription { try takeBackReplaced(plan) }
        try events.write(.redeemed(plan, owner), connection)
        return .redeemed(
            plan.answer(
                redeemedAt: time(of: plan), expiresAt: plan.expiresAt, grants: plan.grants,
                wentToNamedOwner: owner != user))
    }

    /// Takes back credits of a period that another plan had replaced before the merchant received the period.
    private func takeBackReplaced(_ plan: RedemptionPlan) throws {
        let key = RedemptionKey.subscription(plan.purchase)
        guard let replacement = try settlement.subscription(key, connection)?.facts.replacement(of: plan.key) else {
            return
        }
        try revocation(plan.purchase, plan.key, plan.kind).supersede(replacement)
    }

    private func giveRight(_ grant: ProductGrant, _ plan: RedemptionPlan, to owner: UserID) {
        guard let right = Right(grant) else { return }
        if plan.kind == .autoRenewableSubscription {
            guard let expiresAt = plan.expiresAt else { return }
            return settlement.give(
                SubscriptionRight(
                    place: .init(user: owner, kind: right.kind, name: right.name), productID: plan.purchase.productID,
                    startsAt: plan.purchase.purchasedAt, expiresAt: expiresAt, grantedBy: plan.key.text),
                from: RedemptionKey.subscription(plan.purchase))
        }
        var lifetime: Int64?
        if case .entitlement(_, let seconds?) = grant { lifetime = seconds * 1_000 }
        settlement.afterPostings { [lifetime, settlement, connection] in
            try Rights.give(
                right, to: owner, from: plan.key.text, plan.purchase, expiresAt: plan.expiresAt, lifetime: lifetime,
                grantedBy: plan.key.text, settlement, connection)
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

    /// Assigns the subscription to the owner, or finds that another user has it.
    private func enterSubscription(
        _ plan: RedemptionPlan, _ known: SubscriptionRow, _ owner: UserID
    ) throws -> Subscriber {
        var (row, subscriber) = (known, Subscriber.own)
        switch known.userID {
        case owner: break
        case "":
            // An earlier period does not decide who owns the current one.
            if !row.isAfter(plan.key) { row.userID = owner }
        case _ where try handOver(plan, &row, to: owner): break
        case let user:
            switch policy.conflict {
            case .refuse: return .refused(.alreadyRedeemed)
            case .family: subscriber = .guest(members: policy.members)
            case .transfer:
                let now = time(of: plan)
                settlement.afterPostings { [connection] in
                    try Rights.transfer(known.key, from: user, to: owner, at: now, connection)
                }
                row.userID = owner
                try events.write(.transferred(known.key, from: user, to: owner), connection)
            }
        }
        row.decide(by: plan.key)
        try settlement.keep(row, connection)
        return subscriber
    }

    /// Unassigns a subscription that was bought anew with the token of an unknown user. It belongs to nobody, renewals
    /// included, until that user redeems it.
    private func unassign(_ plan: RedemptionPlan, _ known: SubscriptionRow) throws {
        guard plan.obstacle == nil || plan.obstacle == .expired, !known.facts.isRefunded(plan.key) else { return }
        var row = known
        row.userID = ""
        row.decide(by: plan.key)
        try settlement.keep(row, connection)
    }

    /// Assigns a subscription that was bought anew to the user named by the new purchase, otherwise to the first user
    /// who redeems it. Returns false when the subscription was not bought anew. Rights from before end as they would
    /// have ended.
    @discardableResult
    private func handOver(_ plan: RedemptionPlan, _ row: inout SubscriptionRow, to owner: UserID) throws -> Bool {
        let (user, purchase) = (row.userID, plan.purchase)
        guard user != "", user != owner, row.isBoughtAnew(by: purchase, plan.key),
            purchase.names(owner) || row.hasAnotherName(than: purchase)
        else { return false }
        row.userID = owner
        try events.write(.transferred(row.key, from: user, to: owner), connection)
        return true
    }

    // MARK: Conflicts

    private func settleConflict(
        _ plan: RedemptionPlan, _ row: RedemptionRow, _ owner: UserID, _ user: UserID
    ) throws -> Outcome {
        guard plan.kind != .consumable else { return .refused(.alreadyRedeemed) }
        switch policy.conflict {
        case .refuse: return try answerAgain(plan, owner, user, .alreadyRedeemed)
        case .transfer:
            // Credits stay with the first user.
            let rights = row.grants.filter { !$0.isCredits }
            guard try row.transfer(rights, to: owner, connection) else { return .refused(.unavailable) }
            // A subscription's rights were transferred with the subscription.
            if plan.kind != .autoRenewableSubscription {
                let now = time(of: plan)
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
            if try RedemptionRow.insert(shared, key: place, for: owner, at: time(of: plan), connection) {
                return try grant(shared, to: owner, askedBy: user)
            }
            if let row = try RedemptionRow.find(place, connection), row.userID == owner {
                return try staysRevoked(row, plan) ? .refused(.revoked) : again(shared, row, user)
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
