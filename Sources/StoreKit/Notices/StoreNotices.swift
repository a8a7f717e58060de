import Foundation
import StoreWire
import Synchronization

/// Asks the store for what it has to tell, each time the queue has taken in the store's list, and passes it on: refunds,
/// promoted purchases, price increases, another storefront. Codes and purchase intents come this way too.
final class StoreNotices: Sendable {
    private let session: StoreSession
    private let store: RemotePaymentStore
    private let cursors: NoticeCursors
    private let diagnostics: @Sendable (String) -> Void

    private struct State {
        weak var payments: PaymentQueueEngine?
        var isRunning = false
        /// Price increases that the app or the customer put off, until the next launch.
        var putOff: [PriceIncreaseDescription] = []
        /// Those that were asked about in this process.
        var asked: Set<PriceIncreaseDescription> = []
    }

    private let state = Mutex(State())

    init(
        session: StoreSession, store: RemotePaymentStore, cursors: NoticeCursors,
        diagnostics: @escaping @Sendable (String) -> Void
    ) {
        self.session = session
        self.store = store
        self.cursors = cursors
        self.diagnostics = diagnostics
    }

    /// Whom to tell; not retained.
    func attach(_ payments: PaymentQueueEngine) {
        state.withLock { $0.payments = payments }
        session.onStorefrontChange { [weak payments] in payments?.callbacks.storefrontChanged() }
        session.onSignIn { [weak payments, tokens = session.tokens] account in
            payments?.signedIn(account, isCurrent: tokens.current?.account.accountID == account)
        }
    }

    private var payments: PaymentQueueEngine? { state.withLock { $0.payments } }

    // MARK: Notices

    /// Asks and passes on; does nothing while it runs already. What fails is asked for again after the next list.
    func check() async {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        await passOn()
        state.withLock { $0.isRunning = false }
    }

    private func passOn() async {
        guard let account = session.tokens.current?.account.accountID else { return }
        let cursor = cursors.cursor(of: account)
        guard var notices = await page(of: account, after: cursor) else { return }
        // What was lost is told at once and not page by page, so that the cursor is kept after all of it.
        for _ in 1..<Self.pages where notices.hasMore {
            guard var next = await page(of: account, after: notices.cursor) else { return }
            // A store that names the same page again has no more to say.
            next.hasMore = next.hasMore && next.cursor > notices.cursor
            let told = Set(notices.revokedProductIDs)
            next.revokedProductIDs = notices.revokedProductIDs + next.revokedProductIDs.filter { !told.contains($0) }
            notices = next
        }
        session.learn(notices.account)
        await revoke(notices, of: account, after: cursor)
        for promotion in notices.promotions { await offer(promotion, to: account) }
        await askAboutPrices(notices.priceIncreases, of: account)
    }

    /// Pages of one check; what is more comes with the next.
    static let pages = 20

    private func page(of account: AccountID, after cursor: Int64?) async -> NoticesResponse? {
        try? await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
            try await session.client.notices(
                session.bundleID, after: cursor, languages: session.languages, token: token)
        }
    }

    /// The receipt is fresh before the app is told, and the cursor is kept after: a crash in between tells again.
    private func revoke(_ notices: NoticesResponse, of account: AccountID, after cursor: Int64?) async {
        guard notices.cursor != cursor else { return }
        let cursors = cursors
        let diagnostics = diagnostics
        let keep: @Sendable () -> Void = {
            do { try cursors.keep(notices.cursor, of: account) } catch {
                diagnostics("what was told could not be noted: \(error)")
            }
        }
        guard !notices.revokedProductIDs.isEmpty else { return keep() }
        guard await store.renewReceipt(of: account), let payments else { return }
        // A check that began before the cursor is kept would tell the same again.
        await payments.callbacks.revoked(notices.revokedProductIDs, then: keep)
    }

    // MARK: Promoted purchases

    /// Taken up before the app is asked: a crash loses the customer's tap, and never buys twice.
    private func offer(_ promotion: PromotionDescription, to account: AccountID) async {
        do {
            try await session.asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await session.client.take(PromotionRequest(promotionID: promotion.promotionID), token: token)
            }
        } catch { return }
        await offer(promotion.productID)
    }

    /// Asks the app about a payment that began outside it, and adds it when the app says so.
    func offer(_ productID: ProductID) async {
        guard let payments,
            let product = try? await session.products([productID]).products.first(where: { $0.productID == productID })
        else {
            diagnostics("the promoted product \(productID.rawValue.prefix(255)) is not available")
            return
        }
        let payment = PaymentValues(productIdentifier: productID.rawValue)
        if await payments.callbacks.shouldAdd(payment, for: product) { payments.add(payment) }
    }

    // MARK: Price increases

    private func askAboutPrices(_ increases: [PriceIncreaseDescription], of account: AccountID) async {
        let new = state.withLock { state in
            // One that the operator took back or answered meanwhile is asked about no more.
            state.putOff.removeAll { !increases.contains($0) }
            let new = increases.filter { !state.asked.contains($0) && !state.putOff.contains($0) }
            // Put off before the app is asked: it may say no and have them shown in the same breath.
            state.putOff += new
            return new
        }
        guard !new.isEmpty, let payments, await payments.callbacks.shouldShowPriceConsent() else { return }
        let due = state.withLock { state in
            defer { state.putOff.removeAll { new.contains($0) } }
            return state.putOff.filter { new.contains($0) }
        }
        for increase in due { await ask(about: increase, of: account) }
    }

    /// Asks about the price increases that the app put off.
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
            // The store goes on listing it, and the next launch asks again.
            diagnostics("the answer to a price increase did not reach the store")
        }
    }

    // MARK: Codes

    /// How often a wrong code may be mended in one go.
    static let codeAttempts = 5

    /// Asks for a code and redeems it; what it gives comes through the queue.
    func redeemCode() async {
        let account: AccountID
        if let current = session.tokens.current {
            account = current.account.accountID
        } else {
            guard case .signedIn(let signedIn) = await session.signIn(as: nil, email: nil) else { return }
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
