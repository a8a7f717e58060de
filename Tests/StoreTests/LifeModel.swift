import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport

@testable import Store

/// What the database has of a life after an event, read at once.
private struct LifeView: Sendable {
    let ledger: CustomerLedger
    /// The member of the family; nil when there was no family.
    let kin: CustomerLedger?
    /// The purchases that are shared with the member now.
    let kinSources: [TransactionID]

    init(_ scene: LifeScene) async throws {
        let (accountID, kinID) = (scene.account.accountID, scene.hasFamily ? scene.kin.accountID : nil)
        let found = try await scene.test.database.read { connection in
            (
                try CustomerLedger(accountID, in: TestStore.bundleID, connection),
                try kinID.flatMap { try CustomerLedger($0, in: TestStore.bundleID, connection) },
                try kinID.map { try FamilyShares.sources(of: $0, connection) } ?? []
            )
        }
        guard let ledger = found.0 else { throw Missing() }
        (self.ledger, kin, kinSources) = (ledger, found.1, found.2)
    }

    struct Missing: Error {}
}

extension CustomerLedger {
    /// What a merchant is shown of the account.
    fileprivate var answer: (latest: [PurchaseInformation], pending: [PendingRenewal]) {
        (transactions.map { PurchaseInformation($0) }, subscriptions.compactMap { PendingRenewal($0) })
    }

    /// Whether the store would give an answer that it made before, although another one is right.
    fileprivate func isHidden(by earlier: CustomerLedger?) -> Bool {
        guard let earlier, earlier.mark == mark,
            earlier.transactions != transactions || earlier.subscriptions != subscriptions
        else { return false }
        return earlier.answer != answer
    }
}

/// Follows a life from event to event, and compares what the store says in one place with what it says in the others.
struct LifeModel {
    /// A time in which the subscription was active, as the news say.
    private struct Claim {
        var from: Int64
        var end: Int64
        /// Whether a payment was overdue.
        var isGrace: Bool
    }

    /// The customer's own periods after the last event, the oldest first.
    private(set) var rows: [Transaction] = []
    private var problems: [String] = []
    /// The number of the last piece of news.
    private var number: Int64
    private var lastDate = Int64.min
    /// The periods that the news told of, in their order.
    private var told: [TransactionID] = []
    private var refunds: Set<TransactionID> = []
    private var returned: Set<TransactionID> = []
    /// What the news said last of each period.
    private var heard: [String: LifeLine] = [:]
    private var last: ReadSnapshot?
    private var claim: Claim?
    /// The latest time that the clock had.
    private var reached = Int64.min
    /// Before this time the clock was set back, so that dates need not follow one another.
    private var doubtful = Int64.min
    /// Whether the customer was told of a higher price, or agreed to one, since the last rise.
    private var isWarned = false
    /// Whether a higher price of a plan was ordered for the customer.
    private var wasAsked = false
    private var ledgers: [AccountID: CustomerLedger] = [:]
    private var kinTold: Set<TransactionID> = []

    /// - Parameter number: the number of the last piece of news before the life.
    init(after number: Int64) { self.number = number }

    /// Checks everything after an event.
    /// - Returns: the first thing that does not fit together; nil when all does.
    mutating func check(_ event: LifeEvent, _ scene: LifeScene) async throws -> String? {
        let store = scene.test.store
        // Also what is due because of the event.
        try await store.settleSubscriptions(of: scene.account.accountID)
        let view = try await LifeView(scene)
        let news = try await unheard(of: store)
        let now = store.clock.milliseconds
        if event == .back {
            doubtful = max(doubtful, reached)
            lastDate = .min
        }
        reached = max(reached, now)
        isWarned = isWarned || event == .agree
        wasAsked = wasAsked || event == .ask
        let known = rows
        rows = view.ledger.transactions
        let changed = rows.enumerated().filter { $0 >= known.count || known[$0] != $1 }.map(\.element)
        check(known, event, scene)
        try hear(news, changed, event, scene)
        check(view.ledger.subscriptions, event, at: now)
        check(view.ledger, changed)
        if let kin = view.kin {
            try hear(news, of: kin)
            check(kin, view)
        }
        try await checkList(of: scene.account, rows, scene)
        if let kin = view.kin { try await checkList(of: scene.kin, kin.transactions, scene) }
        return problems.first
    }

    private mutating func fail(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if condition { problems.append(problem()) }
    }

    private mutating func unheard(of store: Store) async throws -> [SubscriptionFeedItem] {
        var all: [SubscriptionFeedItem] = []
        while true {
            let page = try await store.newsFeed(after: number)
            all += page
            guard let last = page.last else { return all }
            fail(last.number <= number, "the numbers of the news do not grow")
            number = last.number
            if page.count < 200 { return all }
        }
    }

    /// What a device gets is what the ledger has and the device has not finished.
    private mutating func checkList(of account: Account, _ rows: [Transaction], _ scene: LifeScene) async throws {
        var listed: [TransactionDescription] = []
        var after: TransactionID?
        repeat {
            let page = try await scene.test.store.unfinishedTransactions(
                of: account, in: TestStore.bundleID, after: after)
            listed += page.transactions
            after = page.next
        } while after != nil
        let open = rows.filter { $0.finishedAt == nil }.map(\.description)
        fail(listed != open, "StoreKit lists \(listed.count) transactions of \(open.count) that are not finished")
    }

    // MARK: The ledger

    private mutating func check(_ known: [Transaction], _ event: LifeEvent, _ scene: LifeScene) {
        let new = rows.dropFirst(known.count)
        fail(known.map(\.transactionID) != rows.prefix(known.count).map(\.transactionID), "a period is gone")
        guard problems.isEmpty else { return }
        for (before, after) in zip(known, rows) where before != after { check(before, after, event, Array(new)) }
        fail(Set(rows.map(\.originalTransactionID)).count > 1, "several original identifiers")
        fail(Set(rows.map(\.originalPurchaseDate)).count > 1, "several original dates")
        fail(Set(rows.compactMap(\.webOrderLineItemID)).count != rows.count, "a line item twice")
        fail(Set(rows.compactMap(\.idempotencyKey)).count != rows.count, "a payment pays for several periods")
        fail(rows.contains { $0.refunded > $0.price.milliunits }, "more is refunded than was paid")
        fail(rows.last?.isUpgraded ?? false, "the last period is marked as replaced")
        guard !new.isEmpty else { return }
        checkOffers(scene)
        let catalog = scene.test.store.catalog.value
        let held = scene.processor.held
        let rate = scene.test.store.rate(of: scene.account)
        for (index, row) in rows.enumerated().dropFirst(known.count) {
            // Each period is paid once, with its price, unless an offer makes it free.
            let isFree = row.offerTerms?.paymentMode == .free && (row.offer == .trial || row.namedOffer != nil)
            fail(isFree != (row.price.milliunits == 0), "\(row.productID) for \(row.price.milliunits)")
            let price = catalog.product(row.productID, of: TestStore.bundleID)?.price(in: .unitedStates)?.milliunits
            let mayCost = LifeCatalog.mayCost(row, at: price, wasAsked: wasAsked)
            fail(!mayCost, "\(row.productID) with \(row.namedOffer?.id ?? "no offer") costs \(row.price.milliunits)")
            let payment = row.idempotencyKey.flatMap { held[$0] } ?? 0
            fail(payment != row.price.milliunits, "\(payment) is held, and \(row.price.milliunits) is charged")
            // It is as long as the plan or its offer says.
            var period = LifeCatalog.period(of: row.productID)
            if let terms = row.offerTerms, terms.paymentMode != .payAsYouGo, let whole = terms.period {
                period = whole
            }
            fail(
                row.expiresDate != rate.end(of: period, from: row.purchaseDate),
                "a period of \(row.productID) has another length than \(period)")
            // Nobody pays for the same time twice.
            for earlier in rows[..<index] {
                guard earlier.revokedAt == nil, !earlier.isUpgraded, !returned.contains(earlier.transactionID)
                else { continue }
                let isDouble =
                    (earlier.expiresDate ?? 0) > row.purchaseDate && (row.expiresDate ?? 0) > earlier.purchaseDate
                fail(isDouble, "\(row.productID) is charged twice")
            }
        }
    }

    /// Checks that no offer has more periods than the customer accepted. An introductory one is given once.
    private mutating func checkOffers(_ scene: LifeScene) {
        let introductions = rows.filter { $0.offer != nil }
        fail(Set(introductions.map(\.productID)).count > 1, "two introductory offers")
        let most = introductions.first.flatMap { LifeCatalog.introductions[$0.productID]?.periods } ?? 0
        fail(introductions.count > most, "an introductory offer without an end")
        for (offer, terms) in LifeCatalog.offers {
            let count = rows.count { $0.namedOffer == offer }
            let most = terms.periods * (scene.accepted[offer] ?? 0)
            fail(count > most, "\(offer.id) paid \(count) periods of \(most)")
        }
    }

    /// Checks what changed in a period. Only some events change something.
    private mutating func check(
        _ before: Transaction, _ after: Transaction, _ event: LifeEvent, _ new: [Transaction]
    ) {
        var same = before
        (same.expiresDate, same.revokedAt, same.revocationReason) = (
            after.expiresDate, after.revokedAt, after.revocationReason
        )
        (same.isUpgraded, same.refunded, same.finishedAt) = (after.isUpgraded, after.refunded, after.finishedAt)
        fail(same != after, "a period changed to \(after)")
        if before.expiresDate != after.expiresDate {
            let isLater = (after.expiresDate ?? 0) > (before.expiresDate ?? 0)
            fail(!isLater || event != .extend && event != .extendAll, "the end of a period moved")
        }
        if before.revokedAt != after.revokedAt {
            let isRefund = event == .refundLast || event == .refundEarlier || event == .refundPart
            fail(after.revokedAt == nil ? event != .reverse : !isRefund, "a refund came or went")
        }
        if before.isUpgraded != after.isUpgraded {
            let isReplaced = new.contains { $0.purchaseDate <= after.expiresDate ?? 0 }
            fail(before.isUpgraded || !isReplaced, "replaced by nothing")
        }
    }

    // MARK: The news

    private mutating func hear(
        _ news: [SubscriptionFeedItem], _ changed: [Transaction], _ event: LifeEvent, _ scene: LifeScene
    ) throws {
        var open = Set(changed.map(\.transactionID))
        let original = rows.first?.originalTransactionID
        let byDate = rows.sorted { $0.purchaseDate < $1.purchaseDate }
        let words = news.filter { $0.originalTransactionID == original }.map(\.news).map {
            "\($0.type.rawValue) \($0.subtype?.rawValue ?? "") of \($0.transactionID) at \($0.date)"
        }
        fail(Set(words).count != words.count, "one event told the same twice: \(words)")
        for item in news where item.originalTransactionID == original {
            let (kind, subtype, date) = (item.news.type, item.news.subtype, item.news.date)
            // A purchase has whole seconds.
            fail(date / 1000 < lastDate && reached > doubtful, "the news are out of order")
            lastDate = date / 1000
            let snapshot = try ReadSnapshot(item)
            if let line = LifeLine(news: snapshot.transaction) { heard[line.id] = line }
            open.insert(item.news.transactionID)
            close(at: date, byDate)
            begin(snapshot, at: date)
            last = snapshot
            switch (kind, subtype) {
            case (.subscribed, _), (.renewed, _), (.renewalPreference, .upgrade), (.offerRedeemed, .upgrade):
                told.append(item.news.transactionID)
                hear(of: item.news, event, scene)
            case (.refund, _): refunds.insert(item.news.transactionID)
            case (.refundReversed, _):
                refunds.remove(item.news.transactionID)
                returned.insert(item.news.transactionID)
            case (.priceIncrease, .accepted): isWarned = true
            default: break
            }
        }
        close(at: reached > doubtful ? reached : .min, byDate)
        fail(told != rows.map(\.transactionID), "the news tell of other periods")
        fail(refunds != Set(rows.filter { $0.revokedAt != nil }.map(\.transactionID)), "the news tell of other refunds")
        for row in rows where open.contains(row.transactionID) {
            let (line, news) = (LifeLine(row), heard[row.transactionID.description])
            fail(line != news, "the ledger has \(line), the news \(news.map { "\($0)" } ?? "nothing")")
        }
    }

    /// A new period is not charged too early, and not for more than the customer knows.
    private mutating func hear(of news: SubscriptionNews, _ event: LifeEvent, _ scene: LifeScene) {
        guard let index = rows.firstIndex(where: { $0.transactionID == news.transactionID }) else { return }
        let row = rows[index]
        if news.type == .renewed {
            let lead = row.purchaseDate - news.date
            fail(lead > scene.test.store.policy.lead, "charged \(lead) ms before the period")
        }
        guard index > 0, row.isRenewal, !event.isPurchase else { return }
        let earlier = rows[index - 1]
        let isPlain = [earlier, row].allSatisfy { $0.offer == nil && $0.namedOffer == nil }
        guard isPlain, earlier.productID == row.productID, row.price.milliunits > earlier.price.milliunits else {
            return
        }
        fail(!isWarned, "the price rose to \(row.price.milliunits) without a word")
        isWarned = false
    }

    // MARK: No gap is free

    private mutating func begin(_ snapshot: ReadSnapshot, at date: Int64) {
        func milliseconds(_ name: String) -> Int64 {
            ReadSnapshot.text(snapshot.renewal[name]).flatMap { Int64($0) } ?? 0
        }
        let (end, grace) = (milliseconds("renewalDate"), milliseconds("gracePeriodExpiresDate"))
        switch snapshot.status {
        case 1: claim = Claim(from: date, end: end, isGrace: false)
        case 4:
            claim = Claim(from: date, end: grace, isGrace: true)
            // 16 days, of which one can have another hour.
            fail(grace - end > 16 * 86_400_000 + 3_600_000, "the grace period is too long")
            fail(date < end && reached > doubtful, "in grace before the end")
        default: claim = nil
        }
    }

    /// Checks that all the time until a date in which the subscription was active, outside a grace period, belongs to a
    /// period.
    private mutating func close(at date: Int64, _ byDate: [Transaction]) {
        guard let claim, !claim.isGrace else { return }
        let (from, end) = (max(claim.from, doubtful), min(claim.end, date))
        guard from < end else { return }
        var covered = from
        for row in byDate where row.purchaseDate <= covered { covered = max(covered, row.expiresDate ?? 0) }
        fail(covered < end, "free from \(covered) to \(end)")
    }

    // MARK: The state

    private mutating func check(_ all: [Subscription], _ event: LifeEvent, at now: Int64) {
        guard let subscription = all.first, let period = rows.last else {
            return fail(!all.isEmpty || !rows.isEmpty, "periods without a subscription")
        }
        let state = subscription.state
        let isOver = state == .expired || state == .revoked
        fail(all.count != 1, "\(all.count) subscriptions")
        fail(subscription.transactionID != period.transactionID, "the last period is another one")
        fail(subscription.expiresDate != period.expiresDate, "the end is another one")
        fail(subscription.productID != period.productID, "the product is another one")
        fail(state == .gracePeriod && subscription.graceEnds.map { $0 <= now } ?? true, "in grace after its end")
        fail((subscription.dueAt ?? .max) <= now, "something is due still")
        fail(isOver != (subscription.dueAt == nil), "\(state) and due at \(subscription.dueAt ?? 0)")
        fail(isOver && subscription.willRenew, "over and renewing")
        fail(
            state == .active && period.revokedAt == nil && subscription.expiresDate <= now, "active after the end")
        fail((state == .revoked) != (period.revokedAt != nil), "\(state), and refunded at \(period.revokedAt ?? 0)")
        let isClaimed = claim.map { now < $0.end } ?? false
        fail(subscription.isActive(at: now) != isClaimed, "the news say that it is active: \(isClaimed)")
        guard let last else { return fail(true, "no news") }
        let numbers: [Subscription.State: Int] = [
            .active: 1, .expired: 2, .billingRetry: 3, .gracePeriod: 4, .revoked: 5,
        ]
        fail(numbers[state] != last.status, "\(state), and the news say \(last.status)")
        fail(
            ReadSnapshot.text(last.renewal["renewalDate"]) != "\(subscription.expiresDate)",
            "the news tell of another end")
        let renewal = LifeRenewal(news: last.renewal)
        fail(renewal.renews != subscription.willRenew, "the news say that it renews: \(renewal.renews)")
        if let pending = PendingRenewal(subscription) {
            fail(renewal != LifeRenewal(pending), "pending_renewal_info has \(pending), the news \(renewal)")
        }
    }

    // MARK: Receipts

    /// The rows of receipts and of `verifyReceipt` are those of the ledger, and a kept answer is not an old one.
    private mutating func check(_ ledger: CustomerLedger, _ changed: [Transaction]) {
        for row in changed {
            let line = LifeLine(row)
            let latest = LifeLine(PurchaseInformation(row))
            let inApp = LifeLine(InAppPurchase(row, environment: row.transactionID.environment))
            fail(latest != line, "the ledger has \(line), latest_receipt_info \(latest)")
            fail(inApp != line, "the ledger has \(line), the receipt \(inApp)")
        }
        let accountID = ledger.account.accountID
        fail(ledger.isHidden(by: ledgers[accountID]), "an answer that changed has the mark of the earlier one")
        ledgers[accountID] = ledger
    }

    // MARK: The family

    private mutating func hear(_ news: [SubscriptionFeedItem], of kin: CustomerLedger) throws {
        let rows = Dictionary(uniqueKeysWithValues: kin.transactions.map { ($0.transactionID, $0) })
        let originals = Set(kin.transactions.map(\.originalTransactionID))
        for item in news where originals.contains(item.originalTransactionID) {
            let id = item.news.transactionID
            guard let row = rows[id] else {
                fail(true, "the member's news tell of an unknown period")
                continue
            }
            var line = LifeLine(news: try ReadSnapshot(item).transaction)
            // Later events of the same step can have moved them.
            let now = LifeLine(row)
            line?.end = now.end
            line?.revoked = now.revoked
            fail(line != now, "the member has \(now), the news \(line.map { "\($0)" } ?? "nothing")")
            switch (item.news.type, item.news.subtype) {
            case (.subscribed, _), (.renewed, _), (.renewalPreference, .upgrade):
                fail(!kinTold.insert(id).inserted, "the member is told of a period twice")
            default: break
            }
        }
    }

    /// A member has what the purchaser has, and nothing of its own.
    private mutating func check(_ kin: CustomerLedger, _ view: LifeView) {
        check(kin, kin.transactions)
        let sources = Dictionary(uniqueKeysWithValues: rows.map { ($0.transactionID, $0) })
        let open = kin.transactions.filter { $0.revokedAt == nil }
        let isDouble = Set(open.compactMap(\.sharedFrom)).count != open.count
        fail(isDouble, "the member has a period twice")
        for row in kin.transactions {
            guard let source = row.sharedFrom.flatMap({ sources[$0] }) else {
                fail(true, "the member has a period that nobody shares")
                continue
            }
            fail(row.price.milliunits != 0 || row.idempotencyKey != nil, "the member pays")
            fail(
                row.productID != source.productID || row.purchaseDate != source.purchaseDate
                    || row.expiresDate != source.expiresDate, "the member has other dates")
            fail(row.revokedAt == nil && source.revokedAt != nil, "the member has a refunded period")
            fail(row.isUpgraded && !source.isUpgraded, "the member's period is replaced")
        }
        guard let last = rows.last, view.kinSources.contains(last.originalTransactionID) else { return }
        let isMissing = !open.contains { $0.sharedFrom == last.transactionID }
        let isActive = view.ledger.subscriptions.contains { $0.state == .active }
        fail(isActive && last.revokedAt == nil && isMissing, "the member lacks the last period")
    }
}
