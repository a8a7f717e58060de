import MerchantWire

/// The state of all redemptions. The state machine performs nothing itself: each method updates the state and returns
/// the actions to perform, in order.
struct RedemptionStateMachine: Sendable {
    /// Work that takes time, may fail, and is retried.
    enum Work: Hashable, Sendable {
        case redeem(String)
        case deliver(ContentItemID)
    }

    enum Action: Equatable, Sendable {
        case write(RedemptionEntry)
        case forget(String)
        /// Sends the request to the merchant. The result is passed to ``answered(_:_:)`` or ``failed(_:_:)``.
        case redeem(String, RedemptionRequest)
        /// Downloads the newest version. The result is passed to ``delivered(_:)`` or ``failed(_:_:)``.
        case deliver(ContentItemID)
        /// Calls ``due(_:_:)`` with the turn after the delay for this attempt.
        case wait(Work, turn: Int, attempt: Int, MerchantClientError)
        /// Finishes the StoreKit transaction, if the entry written before this action was saved.
        case finish(MerchantPurchase)
        case tell(MerchantEvent)
    }

    private let finishing: MerchantClientConfiguration.Finishing
    /// The entries by transaction identifier.
    private(set) var entries: [String: RedemptionEntry] = [:]
    /// Transactions that StoreKit has reported in this launch and that are not finished.
    private var shown: Set<String> = []
    /// Transactions that were confirmed and delivered before StoreKit reported them.
    private var settled: Set<String> = []
    private var running: Set<Work> = []
    /// Work that waits for a retry, with the turn of its delay. A delay that was cut short still ends later; its turn
    /// no longer matches then.
    private var waiting: [Work: Int] = [:]
    private var lastTurn = 0
    /// Work that was running when ``wake()`` was called. If it fails in a way that has no delay, such as a missing
    /// token, it is retried at once, because its obstacle may have just been removed.
    private var woken: Set<Work> = []
    private var deliveryAttempts: [ContentItemID: Int] = [:]

    init(finishing: MerchantClientConfiguration.Finishing) { self.finishing = finishing }

    /// Whether work is running. Work that waits for a retry may wait for days.
    var isBusy: Bool { !running.isEmpty }

    // MARK: Starting work

    /// Resumes the saved entries after the process has started.
    mutating func launched(_ known: [RedemptionEntry]) -> [Action] {
        for entry in known { entries[entry.transactionID] = entry }
        return startAll()
    }

    /// Begins the redemption of a transaction that StoreKit has reported. A repeated report begins nothing twice.
    mutating func began(_ new: RedemptionEntry) -> [Action] {
        let id = new.transactionID
        if let actions = reported(new.purchase) { return actions }
        shown.insert(id)
        entries[id] = new
        return [.write(new)] + start(.redeem(id))
    }

    /// Continues the redemption of a transaction that StoreKit has reported, with the evidence saved before.
    /// - Returns: nil, and changes nothing, when the transaction is new.
    mutating func reported(_ purchase: MerchantPurchase) -> [Action]? {
        let id = purchase.transactionID
        if settled.contains(id) { return finish(purchase) }
        guard let known = entries[id] else { return nil }
        shown.insert(id)
        if known.isRedeeming { return start(.redeem(id)) }
        // The transaction is confirmed. The process may have ended before it was finished, or the entry could not be
        // saved.
        var actions: [Action] = []
        if finishing == .afterRedemption {
            let finish = self.finish(known.purchase)
            actions = entries[id].map { [.write($0)] + finish } ?? finish
        }
        return actions + known.due.flatMap { start(.deliver($0)) }
    }

    /// Starts work whose delay has ended.
    mutating func due(_ work: Work, _ turn: Int) -> [Action] {
        guard waiting[work] == turn else { return [] }
        waiting[work] = nil
        return start(work)
    }

    /// Starts all waiting work now.
    mutating func wake() -> [Action] {
        waiting = [:]
        woken = running
        return startAll()
    }

    /// The app has stopped a download. It is not resumed until the app or the next launch requests it.
    mutating func paused(_ item: ContentItemID) { woken.remove(.deliver(item)) }

    /// Abandons a purchase.
    mutating func abandoned(_ id: String) -> [Action] {
        shown.remove(id)
        settled.remove(id)
        guard entries.removeValue(forKey: id) != nil else { return [] }
        return [.forget(id)]
    }

    private mutating func startAll() -> [Action] {
        entries.values.sorted { $0.transactionID < $1.transactionID }.flatMap { entry -> [Action] in
            entry.isRedeeming
                ? start(.redeem(entry.transactionID)) : entry.due.flatMap { start(.deliver($0)) }
        }
    }

    private mutating func start(_ work: Work) -> [Action] {
        guard waiting[work] == nil, running.insert(work).inserted else { return [] }
        switch work {
        case .redeem(let id):
            guard case .redeeming(let request)? = entries[id]?.stage else {
                running.remove(work)
                return []
            }
            return [.redeem(id, request)]
        case .deliver(let item):
            guard entries.values.contains(where: { $0.due.contains(item) }) else {
                running.remove(work)
                return []
            }
            return [.deliver(item)]
        }
    }

    // MARK: Results of work

    /// Handles the merchant's answer to a transaction's request. The answer may confirm other transactions too.
    mutating func answered(_ id: String, _ answer: RedemptionAnswer) -> [Action] {
        ended(.redeem(id))
        var actions: [Action] = []
        for other in entries.keys.sorted() where other != id {
            guard let entry = entries[other], entry.isRedeeming, let redeemed = entry.confirmation(in: answer) else {
                continue
            }
            actions += confirm(entry, redeemed)
        }
        guard let entry = entries[id], entry.isRedeeming else { return actions }
        if let redeemed = entry.confirmation(in: answer) { return confirm(entry, redeemed) + actions }
        let refusal = entry.refusal(in: answer).map {
            MerchantClientError(
                $0.code.isRetryable ? .unreachable : .refused, $0.message, reason: $0.code)
        }
        let error =
            refusal
            ?? MerchantClientError(
                .noEvidence, "the receipt does not contain the transaction; refresh the receipt and redeem it again")
        return failed(.redeem(id), error) + actions
    }

    private mutating func confirm(_ entry: RedemptionEntry, _ redeemed: RedeemedTransaction) -> [Action] {
        let id = entry.transactionID
        waiting[.redeem(id)] = nil
        var entry = entry
        entry.attempts = 0
        // This user cannot download content that was granted to another user.
        let items = redeemed.wentToNamedOwner ? [] : redeemed.contentItems
        let told = Action.tell(.redeemed(redeemed))
        guard !items.isEmpty else { return [told] + settle(entry) }
        entry.stage = .delivering(items)
        let finishes = finishing == .afterRedemption && shown.contains(id)
        entry.isFinished = finishes
        entries[id] = entry
        return [told, .write(entry)] + (finishes ? finish(entry.purchase) : [])
            + items.flatMap { start(.deliver($0)) }
    }

    /// Handles a finished download, whoever requested it.
    mutating func delivered(_ item: ContentItemID) -> [Action] {
        ended(.deliver(item))
        waiting[.deliver(item)] = nil
        deliveryAttempts[item] = nil
        return entries.keys.sorted().flatMap { id -> [Action] in
            guard var entry = entries[id], entry.due.contains(item) else { return [] }
            let rest = entry.due.filter { $0 != item }
            entry.stage = .delivering(rest)
            guard !rest.isEmpty else { return settle(entry) }
            entries[id] = entry
            return [.write(entry)]
        }
    }

    /// Handles a failure: retries later, abandons the work, or leaves it until the app or the user acts.
    mutating func failed(_ work: Work, _ error: MerchantClientError) -> [Action] {
        let isWoken = ended(work)
        switch work {
        case .redeem(let id):
            guard var entry = entries[id], entry.isRedeeming else { return [] }
            switch error.code {
            case .unreachable, .badAnswer:
                entry.attempts += 1
                entries[id] = entry
                return [.write(entry), .wait(work, turn: nextTurn(of: work), attempt: entry.attempts, error)]
            case .refused, .noEvidence:
                // StoreKit keeps the transaction. When StoreKit reports it again, a new redemption begins, perhaps with
                // a newer receipt.
                entries[id] = nil
                return [.forget(id), .tell(.refused(entry.purchase, error))]
            case .notSignedIn, .cancelled, .storage, .noSpace, .wrongContent, .inUse, .notConfigured:
                if isWoken { return start(work) }
                return [.tell(.waiting(entry.purchase, error, seconds: nil))]
            }
        case .deliver(let item):
            switch error.code {
            case .unreachable, .badAnswer, .wrongContent:
                let attempt = deliveryAttempts[item, default: 0] + 1
                deliveryAttempts[item] = attempt
                return [.wait(work, turn: nextTurn(of: work), attempt: attempt, error)]
            case .notSignedIn, .cancelled, .storage, .noSpace, .inUse, .notConfigured:
                let again = isWoken ? start(work) : []
                return again.isEmpty ? [.tell(.notDelivered(item, error, seconds: nil))] : again
            case .refused, .noEvidence:
                return [.tell(.notDelivered(item, error, seconds: nil))]
            }
        }
    }

    /// Marks work as ended.
    /// - Returns: whether ``wake()`` was called while the work ran.
    @discardableResult
    private mutating func ended(_ work: Work) -> Bool {
        running.remove(work)
        return woken.remove(work) != nil
    }

    private mutating func nextTurn(of work: Work) -> Int {
        lastTurn += 1
        waiting[work] = lastTurn
        return lastTurn
    }

    private mutating func settle(_ entry: RedemptionEntry) -> [Action] {
        let id = entry.transactionID
        entries[id] = nil
        // Finish first: if the entry were removed before that, nothing would be lost, but the merchant would be asked
        // again.
        if shown.contains(id) { return finish(entry.purchase) + [.forget(id)] }
        if !entry.isFinished { settled.insert(id) }
        return [.forget(id)]
    }

    private mutating func finish(_ purchase: MerchantPurchase) -> [Action] {
        shown.remove(purchase.transactionID)
        settled.remove(purchase.transactionID)
        entries[purchase.transactionID]?.isFinished = true
        return [.finish(purchase), .tell(.finished(purchase))]
    }
}

extension RedeemedTransaction {
    /// The content items among the grants, each once.
    var contentItems: [ContentItemID] {
        var items: [ContentItemID] = []
        for case .content(let item) in grants where !items.contains(item) { items.append(item) }
        return items
    }
}
