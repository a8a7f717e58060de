import Foundation
import StoreWire
import Synchronization

/// Fetches the store's notices each time the queue has read the store's list, and delivers them to the app: refunds,
/// promoted purchases, price increases and a changed storefront. It also handles offer codes and purchase intents.
final class StoreNotices: Sendable {
    private let session: StoreSession
    private let store: RemotePaymentStore
    private let cursors: NoticeCursors
    private let timer: any RetryTimer
    private let backoff: Backoff
    private let diagnostics: @Sendable (String) -> Void

    private struct State {
        weak var payments: PaymentQueueEngine?
        var isRunning = false
        /// Whether a check was asked for while one was running, which may have missed what changed.
        var mustRunAgain = false
        var isStopped = false
        /// The checks that failed since the last one that did not, or since the queue last read the store's list.
        var failures = 0
        /// The number of the last check. A retry is left out when another check has begun meanwhile.
        var number = 0
        /// Price increases that the app or the customer postponed, until the next launch.
        var putOff: [PriceIncreaseDescription] = []
        /// The price increases that the customer was asked about in this process.
        var asked: Set<PriceIncreaseDescription> = []
    }

    private let state = Mutex(State())

    init(
        session: StoreSession, store: RemotePaymentStore, cursors: NoticeCursors, timer: any RetryTimer,
        backoff: Backoff, diagnostics: @escaping @Sendable (String) -> Void
    ) {
        self.session = session
        self.store = store
        self.cursors = cursors
        self.timer = timer
        self.backoff = backoff
        self.diagnostics = diagnostics
    }

    /// Sets the queue that receives the notices. It is not retained.
    func attach(_ payments: PaymentQueueEngine) {
        state.withLock { $0.payments = payments }
        session.onStorefrontChange { [weak payments] in payments?.callbacks.storefrontChanged() }
        session.onSignIn { [weak payments, tokens = session.tokens] account in
            payments?.signedIn(account, isCurrent: tokens.current?.account.accountID == account)
        }
    }

    private var payments: PaymentQueueEngine? { state.withLock { $0.payments } }

    // MARK: Notices

    /// Fetches and delivers notices. While another check runs, it does nothing; one more check follows that one.
    func check() async {
        state.withLock { $0.failures = 0 }
        await checkOnce()
    }

    /// Ends the checks. A check that runs uses no answer that arrives later, takes up no further promotion and asks the
    /// customer nothing.
    func stop() { state.withLock { $0.isStopped = true } }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Checks, and again after a pause until the store is reached. A refusal ends the check: it is reported, and the
    /// notices wait for the next list, as they do without an observer.
    private func checkOnce() async {
        let isFirst = state.withLock { state in
            guard !state.isStopped else { return false }
            state.mustRunAgain = state.isRunning
            guard !state.isRunning else { return false }
            state.isRunning = true
            state.number += 1
            return true
        }
        guard isFirst else { return }
        var isReached = true
        do { try await passOn() } catch {
            isReached = error != .unreachable
            if case .refused(let refusal) = error {
                diagnostics("the store refused the notices: \(refusal.code) \(refusal.message.prefix(500))")
            }
        }
        let (failures, number, mustRunAgain) = state.withLock { state in
            defer { state.mustRunAgain = false }
            state.isRunning = false
            state.failures = isReached ? 0 : state.failures + 1
            return (state.failures, state.number, isReached && state.mustRunAgain)
        }
        if mustRunAgain { return await checkOnce() }
        guard !isReached else { return }
        timer.after(seconds: backoff.delay(failures)) { [weak self] in
            guard let self, self.isDue(after: number) else { return }
            Task { await self.checkOnce() }
        }
    }

    /// Whether the retry after this check is still wanted.
    private func isDue(after number: Int) -> Bool {
        let payments = state.withLock { $0.number == number && !$0.isStopped ? $0.payments : nil }
        return payments.map { !$0.observers.isEmpty } ?? false
    }

    private func passOn() async throws(StoreFailure) {
        guard let account = session.tokens.current?.account.accountID else { return }
        let cursor = cursors.cursor(of: account)
        let report = session.beginReport()
        var notices = try await page(of: account, after: cursor)
        // All pages are reported in one call, so that the cursor is saved after the app has received all of them.
        for _ in 1..<Self.pages where notices.hasMore {
            var next = try await page(of: account, after: notices.cursor)
            // A page that does not advance the cursor is the last one.
            next.hasMore = next.hasMore && next.cursor > notices.cursor
            let told = Set(notices.revokedProductIDs)
            next.revokedProductIDs = notices.revokedProductIDs + next.revokedProductIDs.filter { !told.contains($0) }
            notices = next
        }
        guard !isStopped else { return }
        session.learn(notices.account, report: report)
        try await revoke(notices, of: account, after: cursor)
        for promotion in notices.promotions { try await offer(promotion, to: account) }
        await askAboutPrices(notices.priceIncreases, of: account)
    }

    /// The most pages of one check. The next check fetches the rest.
    static let pages = 20

    private func page(
        of account: AccountID, after cursor: Int64?
    ) async throws(StoreFailure) -> NoticesResponse {
        try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
            try await session.client.notices(
                session.bundleID, after: cursor, languages: session.languages, token: token)
        }
    }

    /// Refreshes the receipt, then calls the observers, then saves the cursor. After a crash in between, and after a
    /// receipt that was refused for good, the app receives the notices with a later check.
    private func revoke(_ notices: NoticesResponse, of account: AccountID, after cursor: Int64?)
        async throws(StoreFailure)
    {
        guard notices.cursor != cursor else { return }
        let cursors = cursors
        let diagnostics = diagnostics
        let keep: @Sendable () -> Void = {
            do { try cursors.keep(notices.cursor, of: account) } catch {
                diagnostics("cannot save which notices the app has received: \(error)")
            }
        }
        guard !notices.revokedProductIDs.isEmpty else { return keep() }
        guard try await store.renewReceipt(of: account, unless: { self.isStopped }) else {
            return diagnostics("without a new receipt, the app is not told of refunds; the next check tries again")
        }
        guard let payments else { return }
        // Waits for the cursor to be saved. A check that began before would report the same notices again.
        await payments.callbacks.revoked(notices.revokedProductIDs, then: keep)
    }

    // MARK: Promoted purchases

    /// Marks the promotion as taken at the store before it asks the app. A crash in between loses the customer's tap,
    /// but never buys twice. The product is fetched first, so that a store that cannot be reached loses no tap.
    private func offer(_ promotion: PromotionDescription, to account: AccountID) async throws(StoreFailure) {
        let product = try await session.products([promotion.productID]).products.first {
            $0.productID == promotion.productID
        }
        guard !isStopped else { return }
        do {
            try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await session.client.take(PromotionRequest(promotionID: promotion.promotionID), token: token)
            }
        } catch {
            if error == .unreachable { throw error }
            return
        }
        await offer(promotion.productID, as: product)
    }

    /// Asks the app about a payment that began outside it, and adds the payment when the app agrees.
    func offer(_ productID: ProductID) async {
        let products = try? await session.products([productID]).products
        await offer(productID, as: products?.first { $0.productID == productID })
    }

    private func offer(_ productID: ProductID, as product: ProductDescription?) async {
        guard let payments, let product else {
            diagnostics("the promoted product \(productID.rawValue.prefix(255)) is not available")
            return
        }
        let payment = PaymentValues(productIdentifier: productID.rawValue)
        if await payments.callbacks.shouldAdd(payment, for: product) { payments.add(payment) }
    }

    // MARK: Price increases

    private func askAboutPrices(_ increases: [PriceIncreaseDescription], of account: AccountID) async {
        let new = state.withLock { state in
            // Drops increases that the operator withdrew or answered meanwhile.
            state.putOff.removeAll { !increases.contains($0) }
            let new = increases.filter { !state.asked.contains($0) && !state.putOff.contains($0) }
            // Postpone them before asking the delegate: it may call showPriceConsentIfNeeded() before it returns false.
            state.putOff += new
            return new
        }
        guard !new.isEmpty, let payments, await payments.callbacks.shouldShowPriceConsent(), !isStopped else { return }
        let due = state.withLock { state in
            defer { state.putOff.removeAll { new.contains($0) } }
            return state.putOff.filter { new.contains($0) }
        }
        for increase in due {
            guard !isStopped else { return }
            await ask(about: increase, of: account)
        }
    }

    /// Asks about the price increases that the app postponed.
    func showPriceConsent() async {
        guard let account = session.tokens.current?.account.accountID else { return }
        let increases = state.withLock { state in
            defer { state.putOff = [] }
            return state.putOff
        }
        for increase in increases { await ask(about: increase, of: account) }
    }

    private func ask(about increase: PriceIncreaseDescription, of account: AccountID) async {
        state.withLock { _ = $0.asked.insert(increase) }
        guard let old = increase.oldPrice.exact, let new = increase.newPrice.exact else { return }
        let question = PriceIncreaseRequest(
            productIdentifier: increase.productID.rawValue, productName: increase.displayName, oldPrice: old,
            newPrice: new, priceLocale: Locale(identifier: increase.priceLocale))
        let answer = await session.onSheet { await $0.confirmPriceIncrease(question) }
        guard answer != .later else { return }
        let consent = PriceConsentRequest(
            bundleID: session.bundleID, productID: increase.productID, newPrice: increase.newPrice,
            accepts: answer == .accept)
        do {
            try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await session.client.answer(consent, token: token)
            }
        } catch {
            // The store keeps listing the increase, so the next launch asks again.
            diagnostics("the answer to a price increase did not reach the store; the next launch asks again")
        }
    }

    // MARK: Codes

    /// The number of codes that the customer may enter in one dialogue.
    static let codeAttempts = 5

    /// Asks for a code and redeems it. The resulting transaction arrives through the queue.
    func redeemCode() async {
        let account: AccountID
        if let current = session.tokens.current {
            account = current.account.accountID
        } else {
            guard case .signedIn(let signedIn) = await session.signIn(as: nil, email: nil, tellsFailures: true)
            else { return }
            account = signedIn.account.accountID
        }
        var prompt = RedemptionPrompt(problem: nil)
        for _ in 0..<Self.codeAttempts {
            let asked = prompt
            guard let code = await session.onSheet({ await $0.redeemCode(asked) }) else { return }
            payments?.expectTransaction()
            do {
                let request = CodeRedemptionRequest(bundleID: session.bundleID, code: code)
                let transaction = try await session.asAccount(account, mayAsk: true) { token throws(StoreFailure) in
                    try await session.client.redeem(request, token: token)
                }
                payments?.receive(transaction, of: account)
                return
            } catch {
                payments?.receive(nil, of: account)
                let failure = PaymentFailure(error)
                guard case .refused = error else { return await session.tell(failure) }
                prompt.problem = failure.text(in: session.languages)
            }
        }
    }
}

extension Money {
    /// The amount as a decimal number.
    var exact: Decimal? { Decimal(string: decimal, locale: Locale(identifier: "en_US_POSIX")) }
}
