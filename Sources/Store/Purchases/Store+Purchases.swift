import Database
import Foundation
import StoreWire

extension Store {
    /// Buys a product. The first answer to an idempotency key is final: repeating the request returns it again and buys
    /// nothing twice.
    /// - Returns: `purchased` with the transaction, `deferred`, or `failed` with the reason.
    /// - Throws: ``StoreError`` `unknown_app`, `invalid_request`, `idempotency_key_reused` or `unavailable`;
    ///   ``DatabaseError`` when the purchase could not be recorded. Nothing is bought when this throws.
    public func purchase(_ request: PurchaseRequest, by account: Account) async throws -> PurchaseResponse {
        try Self.validate(request)
        let answer = try await answer(request, by: account)
        changed(answer.response.state == .purchased ? .transactions : .attempts)
        if !answer.usesPayment { await processor.void(request.idempotencyKey) }
        return await described(answer.response)
    }

    private func answer(_ request: PurchaseRequest, by account: Account) async throws -> PurchaseAnswer {
        let app = catalog.value.app(request.bundleID)
        // Look for an earlier answer first when a repeated authorization could have an effect, or when the app has left
        // the catalog and its customers repeat a request. All other requests find the earlier answer when they are
        // recorded.
        if app == nil || !canRepeatAuthorization, let first = try await firstAnswer(request, by: account) {
            return first
        }
        guard let app else {
            throw StoreError(.unknownApp, "The catalog has no app with the bundle identifier \(request.bundleID).")
        }
        // A retry happens only when the same account buys the same product at the same moment.
        for _ in 0..<4 {
            let offer = try await self.offer(request, app: app, account: account, isApproved: false)
            if let answer = try await carryOut(offer, request, by: account) { return answer }
        }
        throw StoreError(.unavailable, "The same product is being bought by this account right now. Try again.")
    }

    /// Whether a repeated authorization under one key has no effect. This is so for the sandbox's processor without
    /// rules.
    var canRepeatAuthorization: Bool { usesSandboxProcessor && payments.approvesEverything }

    /// The recorded answer to the request's key; nil when the key is new.
    private func firstAnswer(_ request: PurchaseRequest, by account: Account) async throws -> PurchaseAnswer? {
        try await database.read { connection in
            try Purchase.find(request.idempotencyKey, connection) == nil
                ? nil : Self.firstAnswer(request, account, connection)
        }
    }

    /// The store's decision about a request before the payment is authorized.
    enum PurchaseOffer: Sendable {
        case refuse(WireError, Money)
        /// The purchase waits for approval. If it was interrupted, `interruption` is the answer to the device until
        /// then.
        case wait(Sale, interruption: WireError?)
        case sell(Sale)
        /// The customer chooses what the next renewal buys. Nothing is paid now.
        case choose(PlanChoice)
    }

    /// The terms of a sale.
    struct Sale: Sendable {
        var product: CatalogProduct
        var itemID: Int64
        /// The price of one, which the payment sheet shows and the customer agrees to.
        var unitPrice: Money
        /// The price for the whole quantity.
        var amount: Money
        /// The ownership from an earlier purchase, which is delivered again without charge.
        var owned: Ownership?
        var period: SubscriptionPeriod?
        var introduction: Transaction.Offer?
        /// Whether the account cannot have the introductory offer of the subscription's group, or no longer.
        var isIntroductionOver = false
        /// The account's last transaction in the subscription's group when the sale was planned.
        var lastInGroup: TransactionID?
        /// The promotional, code or win-back offer that was applied; nil for none.
        var namedOffer: NamedOffer?
        /// How the offer of the first period is paid; nil without an offer.
        var offerTerms: OfferTerms?
        /// The further periods of the offer after the first one; nil for none.
        var remainingOffer: Subscription.RemainingOffer?
        /// Whether the subscription ends with the first period, because its offer does not renew.
        var endsWithOffer = false
        /// How the sale continues the account's subscription; nil when the product is not one.
        var subscription: SubscriptionTerms?

        /// Whether the customer agreed to the price. For a product that the account owns, both the price and zero are
        /// agreed.
        func isAgreed(to request: PurchaseRequest) -> Bool {
            request.agreedPrice.map { $0 == unitPrice || (owned != nil && $0.milliunits == 0) } ?? true
        }
    }

    static func validate(_ request: PurchaseRequest) throws {
        guard request.bundleID.rawValue.utf8.count <= StoreLimits.identifier,
            request.productID.rawValue.utf8.count <= StoreLimits.identifier,
            (request.applicationUsername?.utf8.count ?? 0) <= StoreLimits.applicationUsername,
            request.offer?.isBounded ?? true, request.offerJWS?.isBounded ?? true,
            (request.winBackOfferID?.utf8.count ?? 0) <= StoreLimits.identifier,
            ![
                request.bundleID.rawValue, request.productID.rawValue, request.applicationUsername ?? "",
                request.offer?.offerID ?? "", request.offerJWS?.offerID ?? "", request.winBackOfferID ?? "",
            ].contains(where: { $0.utf8.contains(0) })
        else {
            throw StoreError(
                .invalidRequest,
                "Identifiers can have at most \(StoreLimits.identifier) bytes, applicationUsername at most "
                    + "\(StoreLimits.applicationUsername), both without a NUL, an offer's signature at most "
                    + "\(StoreLimits.offerSignature) and its JWS at most \(StoreLimits.offerJWS).")
        }
        let isPromotional = request.offer != nil || request.offerJWS != nil
        guard request.offer == nil || request.offerJWS == nil, !isPromotional || request.winBackOfferID == nil else {
            throw StoreError(.invalidRequest, "A purchase can have one promotional or win-back offer, not several.")
        }
    }

    /// Decides about a request, with all look-ups in the database.
    /// - Parameters:
    ///   - isApproved: whether a waiting purchase is approved or resolved now.
    ///   - named: the offer of such a purchase, whose signature was checked with the request; or the offer of a code.
    ///   - kept: the terms of `named` in case that the catalog no longer has it; nil when they are unknown.
    func offer(
        _ request: PurchaseRequest, app: CatalogApp, account: Account, isApproved: Bool, named: NamedOffer? = nil,
        kept: CatalogOffer? = nil
    ) async throws -> PurchaseOffer {
        let storefront = try storefront(of: account)
        func refuse(_ failure: WireError) -> PurchaseOffer {
            .refuse(failure, Money(milliunits: 0, currency: storefront.currency))
        }
        var promoted: ChosenOffer?
        if let product = app.product(request.productID) {
            switch try await promotion(
                request, of: product, app: app, account: account, named: named, kept: kept)
            {
            case .success(let offer): promoted = offer
            case .failure(let failure): return refuse(failure)
            }
        }
        // The offer of an approved purchase was compared with the product's price at the time of the request.
        let isCompared = isApproved && promoted?.name.kind != .code
        let terms = try terms(
            request, app: app, account: account,
            promoted: isCompared ? nil : promoted?.offer.description(in: storefront))
        guard case .sell(var sale) = terms else { return terms }
        if sale.product.kind.isOwnedOnce {
            let productID = sale.product.productID
            sale.owned = try await database.read {
                try Ownership.find(account.accountID, app.bundleID, productID, $0)
            }
            if sale.owned != nil { sale.amount.milliunits = 0 }
        }
        guard sale.isAgreed(to: request) else {
            return refuse(WireError(code: .priceChanged, message: "The price has changed. Ask for the product again."))
        }
        if let subscription = sale.product.subscription {
            let choice = try await apply(
                subscription, promoted, to: &sale, app: app, account: account, storefront: storefront)
            switch choice {
            case .refused(let failure): return refuse(failure)
            case .held:
                return refuse(
                    WireError(
                        code: .alreadySubscribed, message: "This account is subscribed to the product already."))
            case .later(let choice):
                guard asks(account, request), !isApproved else { return .choose(choice) }
                // If the subscription is over when the purchase is approved, the offer begins at once.
                if let promoted { sale.apply(promoted, in: storefront) }
                return .wait(sale, interruption: nil)
            case .now: break
            }
            if let promoted { sale.apply(promoted, in: storefront) }
        }
        if asks(account, request), !isApproved, sale.owned == nil { return .wait(sale, interruption: nil) }
        if account.interruptsPurchases, !isApproved, sale.owned == nil {
            let message = "The purchase was interrupted. It waits until the customer resolves it at the store."
            return .wait(sale, interruption: WireError(code: .interrupted, message: message))
        }
        return .sell(sale)
    }

    /// Whether the purchase needs approval.
    func asks(_ account: Account, _ request: PurchaseRequest) -> Bool {
        account.asksToBuy || (request.simulatesAskToBuy && environment == .sandbox)
    }

    /// Decides about a request by the catalog and the account alone: a sale at the full price, or a refusal.
    /// - Parameter promoted: the promotional offer whose price applies; nil for none.
    func terms(
        _ request: PurchaseRequest, app: CatalogApp, account: Account, promoted: OfferDescription? = nil
    ) throws -> PurchaseOffer {
        let storefront = try storefront(of: account)
        func refuse(_ code: WireError.Code, _ message: String) -> PurchaseOffer {
            .refuse(WireError(code: code, message: message), Money(milliunits: 0, currency: storefront.currency))
        }
        guard let product = app.product(request.productID), let price = product.price(in: storefront) else {
            return refuse(
                .productNotAvailable, "The product is not available in the storefront \(storefront.countryCode).")
        }
        guard account.paymentsAllowed else { return refuse(.paymentNotAllowed, "This account may not make payments.") }
        guard (1...StoreLimits.quantity).contains(request.quantity),
            request.quantity == 1 || product.kind == .consumable
        else {
            return refuse(
                .invalidQuantity,
                "Buy 1 to \(StoreLimits.quantity) of a consumable, or one of any other product.")
        }
        if let promoted, let period = product.subscription?.period, promoted.isDearer(than: price, for: period) {
            return refuse(.invalidOfferPrice, "The offer costs more than the product.")
        }
        guard let amount = price.times(request.quantity) else {
            return refuse(.invalidQuantity, "The amount is too large.")
        }
        return .sell(
            Sale(product: product, itemID: product.itemID, unitPrice: promoted?.price ?? price, amount: amount))
    }

    /// When the purchase of a subscription takes effect.
    private enum SubscriptionStart {
        /// A period begins now, or pays an overdue renewal.
        case now
        /// The next renewal buys it.
        case later(PlanChoice)
        /// The account has the subscription already, and it renews.
        case held
        /// The account cannot use the offer.
        case refused(WireError)
    }

    /// Decides when the purchase takes effect, and sets the first period and its price.
    private func apply(
        _ subscription: CatalogSubscription, _ promoted: ChosenOffer?, to sale: inout Sale, app: CatalogApp,
        account: Account, storefront: Storefront
    ) async throws -> SubscriptionStart {
        try await settleSubscriptions(of: account.accountID)
        let now = clock.milliseconds
        let group = subscription.groupID
        let (lasting, known) = try await database.read { connection in
            (
                try Transactions.lasting(of: account.accountID, in: app.bundleID, connection).filter {
                    $0.subscriptionGroupID == group
                },
                try Subscriptions.find(of: account.accountID, in: app.bundleID, group: group, connection)
            )
        }
        let earlier = lasting.filter { $0.sharedFrom == nil }
        let productID = sale.product.productID
        sale.lastInGroup = earlier.last?.transactionID
        sale.period = subscription.period
        if let promoted {
            let customer = OfferCustomer(
                known, lasting: lasting, current: known.flatMap { app.product($0.productID)?.subscription }, at: now)
            if let failure = customer.refusal(of: promoted, subscription, at: now, in: environment) {
                return .refused(failure)
            }
        }
        if let known {
            let current = app.product(known.productID)?.subscription
            switch known.start(
                ofBuying: productID, subscription, offer: promoted?.name, replacing: current, at: now)
            {
            case .held: return .held
            case .later:
                let offer = promoted.map { WaitingOffer($0, in: storefront) }
                return .later(PlanChoice(known: known, productID: productID, offer: offer))
            case .now: break
            }
        }
        var terms = SubscriptionTerms(
            after: known, buying: productID, at: now, group: group, ids: ids, policy: policy, rate: rate(of: account))
        terms.replaced = earlier.filter { $0.isCurrent(at: now) }
        terms.price = sale.product.price(in: storefront)
        sale.subscription = terms
        // Buying the product of an overdue renewal pays the renewal, with its offer or the price that it keeps. The
        // customer has agreed to the product's price at most. An offer that costs more comes later.
        if promoted == nil, let known, terms.paysRenewal, known.renewalProductID == productID,
            case .success(let renewal) = try await renewalTerms(of: known, at: now),
            renewal.hasOffer || subscription.preservesPrice
        {
            if renewal.amount.milliunits <= sale.unitPrice.milliunits {
                sale.apply(renewal)
            } else {
                var plain = known
                plain.waitingOffer = nil
                if subscription.preservesPrice, case .success(let kept) = try await renewalTerms(of: plain, at: now),
                    kept.amount.milliunits <= sale.unitPrice.milliunits
                {
                    sale.apply(kept)
                }
                sale.subscription?.waitingOffer = known.waitingOffer
            }
        }
        sale.isIntroductionOver = !Self.canHaveIntroduction(earlier, known, at: now)
        if !sale.isIntroductionOver, promoted?.stacks ?? true,
            let introduction = subscription.introductoryOffers.first?.description(in: storefront)
        {
            sale.amount = introduction.price
            sale.introduction = introduction.paymentMode == .free ? .trial : .introductory
            sale.period = introduction.firstPeriod
            sale.offerTerms = OfferTerms(introduction)
            sale.remainingOffer = introduction.afterFirstPeriod
        }
        return .now
    }

    /// Whether an account can have the introductory offer of a group: once, and only without a subscription and a
    /// current period there. A code replaces the introductory offer.
    /// - Parameter earlier: the account's own periods of the group.
    static func canHaveIntroduction(_ earlier: [Transaction], _ known: Subscription?, at date: Int64) -> Bool {
        let isOver = known.map { $0.state == .expired || $0.state == .revoked } ?? true
        return isOver
            && !earlier.contains { $0.isCurrent(at: date) || $0.offer != nil || $0.namedOffer?.kind == .code }
    }

    /// How long the account's periods last. Production knows only real periods.
    func rate(of account: Account) -> RenewalRate { environment == .sandbox ? account.renewalRate : .real }

    /// Authorizes the payment and records the outcome. Returns nil when a concurrent purchase changed the terms, and
    /// the request must be decided again.
    private func carryOut(
        _ offer: PurchaseOffer, _ request: PurchaseRequest, by account: Account
    ) async throws -> PurchaseAnswer? {
        switch offer {
        case .refuse(let failure, let amount):
            return try await record(request, by: account, .failed, failure: failure, amount: amount)
        case .wait(let sale, let interruption):
            return try await record(
                request, by: account, interruption == nil ? .deferred : .failed, failure: interruption,
                amount: sale.amount, subscription: WaitingSubscription(sale, in: storefront(of: account)))
        case .choose(let choice):
            return try await record(choice, request, by: account)
        case .sell(let sale):
            let decision = try await authorize(sale.amount, request, account.accountID)
            let answer: PurchaseAnswer?
            switch decision {
            case .approved(let reference):
                answer = try await sell(sale, request, by: account, reference: reference)
            case .declined(let message):
                let failure = WireError(code: .paymentDeclined, message: message)
                answer = try await record(request, by: account, .failed, failure: failure, amount: sale.amount)
            }
            try await reconcile(answer, asked: sale.amount, request, account)
            return answer
        }
    }

    @discardableResult
    func record(
        _ request: PurchaseRequest, by account: Account, _ state: Purchase.State, failure: WireError?, amount: Money,
        subscription: WaitingSubscription? = nil, named: NamedOffer? = nil
    ) async throws -> PurchaseAnswer? {
        let purchase = Purchase(
            idempotencyKey: request.idempotencyKey, accountID: account.accountID, bundleID: request.bundleID,
            productID: request.productID, quantity: Purchase.keptQuantity(request.quantity),
            applicationUsername: request.applicationUsername, state: state, failure: failure, transactionID: nil,
            amount: amount,
            paymentReference: nil, createdAt: clock.milliseconds, namedOffer: named ?? request.namedOffer,
            storefront: account.storefront)
        let attemptID = ids.next()
        do {
            return try await database.write { connection in
                guard try purchase.insert(connection) else { return try Self.firstAnswer(request, account, connection) }
                try Attempts.insert(
                    attemptID, of: purchase.accountID, key: purchase.idempotencyKey, connection)
                // A waiting purchase can still be sold, so it uses the offer's nonce.
                if purchase.waits { try request.useNonce(connection) }
                try subscription?.insert(request.idempotencyKey, connection)
                return PurchaseAnswer(purchase, transaction: nil)
            }
        } catch is OwnedMeanwhile {
            return nil
        }
    }

    private func sell(
        _ sale: Sale, _ request: PurchaseRequest, by account: Account, reference: String
    ) async throws -> PurchaseAnswer? {
        let transaction = self.transaction(sale, request, account)
        let purchase = Self.purchase(transaction, request, reference: reference)
        do {
            let answer = try await database.write { [recorder] connection in
                try Self.record(purchase, transaction, sale, request, account, recorder, connection)
            }
            schedule.add(transaction.expiresDate.map { $0 - policy.lead })
            if answer.response.transaction?.transactionID == transaction.transactionID {
                await voidDueRenewal(of: sale.subscription?.known)
            }
            if !(sale.subscription?.replaced.isEmpty ?? true) { await tellRefunds(mostFailures: 1) }
            // The members of the family get it, too, or the account's other devices.
            if sale.product.isShareable || transaction.isMadeByStore { tell(account.accountID) }
            return answer
        } catch is OwnedMeanwhile {
            // Keep the authorization under the key. The next decision determines whether it is used.
            return nil
        }
    }

    /// The record of a paid purchase.
    /// - Parameter named: the offer of a code or of a renewal, which no request names. A device's purchase keeps the
    ///   offer that its request named, with which the repeated request is compared. The transaction can have another
    ///   one: that of the overdue renewal that the purchase pays.
    static func purchase(
        _ transaction: Transaction, _ request: PurchaseRequest, named: NamedOffer? = nil, reference: String
    ) -> Purchase {
        Purchase(
            idempotencyKey: request.idempotencyKey, accountID: transaction.accountID, bundleID: request.bundleID,
            productID: request.productID, quantity: request.quantity, applicationUsername: request.applicationUsername,
            state: .purchased, failure: nil, transactionID: transaction.transactionID, amount: transaction.price,
            paymentReference: reference, createdAt: transaction.purchaseDate,
            namedOffer: named ?? request.namedOffer, storefront: transaction.storefront)
    }

    /// Records a paid purchase, unless its key already has an answer.
    static func record(
        _ purchase: Purchase, _ transaction: Transaction, _ sale: Sale, _ request: PurchaseRequest, _ account: Account,
        _ recorder: Recorder, _ connection: Connection
    ) throws -> PurchaseAnswer {
        guard try purchase.insert(connection) else { return try firstAnswer(request, account, connection) }
        try request.useNonce(connection)
        try insert(transaction, sale, recorder, connection)
        return PurchaseAnswer(purchase, transaction: transaction)
    }

    /// Creates the transaction of a sale, with a new identifier.
    func transaction(_ sale: Sale, _ request: PurchaseRequest, _ account: Account) -> Transaction {
        let id = ids.next()
        // Apple's subscriptions begin and end on whole seconds; other purchase dates keep their milliseconds.
        let now =
            sale.subscription?.start
            ?? (sale.period == nil ? clock.milliseconds : clock.milliseconds / 1000 * 1000)
        return Transaction(
            accountID: account.accountID, transactionID: id,
            originalTransactionID: sale.owned?.originalTransactionID ?? sale.subscription?.earlier?.id ?? id,
            bundleID: request.bundleID, productID: request.productID, itemID: sale.itemID, kind: sale.product.kind,
            quantity: request.quantity, price: sale.amount, storefront: account.storefront, purchaseDate: now,
            originalPurchaseDate: sale.owned?.originalPurchaseDate ?? sale.subscription?.earlier?.date ?? now,
            expiresDate: sale.period.map { (sale.subscription?.rate ?? .real).end(of: $0, from: now) },
            webOrderLineItemID: sale.subscription?.lineItemID,
            subscriptionGroupID: sale.product.subscription?.groupID, offer: sale.introduction,
            applicationUsername: request.applicationUsername, idempotencyKey: request.idempotencyKey, finishedAt: nil,
            revokedAt: nil,
            revocationReason: nil, namedOffer: sale.namedOffer, isRenewal: sale.subscription?.paysRenewal ?? false,
            offerTerms: sale.offerTerms)
    }

    /// Inserts a sale's transaction into the ledger, with the ownership that it creates.
    /// - Throws: ``OwnedMeanwhile`` when, since the sale was planned, the product was bought or refunded, or the
    ///   account subscribed in the same group.
    static func insert(
        _ transaction: Transaction, _ sale: Sale, _ recorder: Recorder, _ connection: Connection
    ) throws {
        if let groupID = transaction.subscriptionGroupID {
            let last = try Transactions.last(
                of: transaction.accountID, in: transaction.bundleID, group: groupID, connection)
            guard last == sale.lastInGroup else { throw OwnedMeanwhile() }
        }
        if transaction.kind.isOwnedOnce {
            let isOwned =
                transaction.originalTransactionID == transaction.transactionID
                ? try Ownership(transaction).insert(connection)
                : try Ownership.find(transaction.accountID, transaction.bundleID, transaction.productID, connection)?
                    .originalTransactionID == transaction.originalTransactionID
            guard isOwned else { throw OwnedMeanwhile() }
        }
        try transaction.insert(in: recorder.environment, connection)
        // A product that is owned already is delivered again without a charge.
        if transaction.originalTransactionID == transaction.transactionID {
            try OneTimeNews.charge.tell(of: transaction, at: transaction.purchaseDate, recorder, connection)
        }
        if sale.subscription?.earlier != nil, !sale.product.isShareable {
            try FamilyShares.end(
                of: transaction.originalTransactionID, at: transaction.purchaseDate, recorder, connection)
        }
        try sale.subscription?.record(transaction, of: sale, recorder, connection)
        if sale.product.isShareable {
            try FamilyShares.share(transaction, at: transaction.purchaseDate, recorder, connection)
        }
    }

    func storefront(of account: Account) throws -> Storefront {
        guard let storefront = Storefront.named(account.storefront) else {
            throw StoreError(.internalError, "This program does not know the account's storefront.")
        }
        return storefront
    }
}

/// A concurrent purchase or refund changed the terms between the decision and the sale.
struct OwnedMeanwhile: Error {}
