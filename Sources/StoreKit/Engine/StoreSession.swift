import Foundation
import StoreWire
import Synchronization

/// This device's session with its store: the accounts that are signed in, and the dialogues with the customer.
final class StoreSession: Sendable {
    let client: StoreClient
    let tokens: AccountTokens
    let deviceID: UUID
    let bundleID: BundleID
    let languages: [String]
    let sheet: any PaymentSheet
    /// The queue for notifications, the same as for the app's observers.
    private let callbackQueue: DispatchQueue
    private let sheetAccess = SerialAccess()
    private let lastStorefront = Mutex<StorefrontDescription?>(nil)
    /// The number of the last request about an account that was sent, and of the last one whose response was saved.
    private let reports = Mutex((sent: 0, saved: 0))
    /// The accounts whose sign-in the customer cancelled. The customer is not asked for them again before the next
    /// launch.
    private let declined = Mutex<Set<AccountID>>([])
    private let whenStorefrontChanges = Mutex<@Sendable () -> Void>({})
    private let whenSignedIn = Mutex<@Sendable (AccountID) -> Void>({ _ in })

    init(
        client: StoreClient, tokens: AccountTokens, deviceID: UUID, bundleID: BundleID, languages: [String],
        sheet: any PaymentSheet, callbackQueue: DispatchQueue
    ) {
        self.client = client
        self.tokens = tokens
        self.deviceID = deviceID
        self.bundleID = bundleID
        self.languages = languages
        self.sheet = sheet
        self.callbackQueue = callbackQueue
    }

    /// The storefront that the store reported last.
    var storefront: StorefrontDescription? {
        lastStorefront.withLock { $0 } ?? tokens.current?.account.storefront
    }

    /// Sets a closure that is called each time the storefront has changed.
    func onStorefrontChange(_ body: @escaping @Sendable () -> Void) { whenStorefrontChanges.withLock { $0 = body } }

    /// Sets a closure that is called with the account each time the customer has signed in.
    func onSignIn(_ body: @escaping @Sendable (AccountID) -> Void) { whenSignedIn.withLock { $0 = body } }

    /// Numbers a request whose response describes an account. Call it before the request is sent.
    func beginReport() -> Int {
        reports.withLock { reports in
            reports.sent += 1
            return reports.sent
        }
    }

    /// Whether no response to a later request was saved. A response that was made before the account moved may arrive
    /// after one that was made since.
    private func isNewest(_ report: Int) -> Bool {
        reports.withLock { reports in
            guard report >= reports.saved else { return false }
            reports.saved = report
            return true
        }
    }

    /// Saves the store's description of an account, which need not be the current account, unless the response to a
    /// later request was saved already.
    /// - Parameter report: the number of the request, from ``beginReport()``.
    func learn(_ account: AccountDescription, report: Int) {
        guard isNewest(report), let known = tokens.signedIn(account.accountID) else { return }
        let isCurrent = tokens.current?.account.accountID == account.accountID
        let before = storefront
        if known.account != account {
            try? tokens.keep(AccountTokens.SignedIn(token: known.token, account: account), asCurrent: false)
        }
        if isCurrent { moved(from: before, to: account.storefront) }
    }

    /// Saves the current storefront, and reports a change.
    private func moved(from before: StorefrontDescription?, to now: StorefrontDescription) {
        lastStorefront.withLock { $0 = now }
        guard let before, before != now else { return }
        callbackQueue.async {
            NotificationCenter.default.post(name: .SKStorefrontIdentifierDidChange, object: nil)
            NotificationCenter.default.post(name: .SKStorefrontCountryCodeDidChange, object: nil)
        }
        whenStorefrontChanges.withLock { $0 }()
    }

    /// The number of passwords that the customer may enter in one dialogue.
    static let passwordAttempts = 3

    enum SignIn: Sendable {
        case signedIn(AccountTokens.SignedIn)
        /// The customer signed in to another account than the requested one.
        case otherAccount(AccountDescription)
        case cancelled
        case refused(PaymentFailure)
        case unreachable
    }

    /// Asks the customer to sign in.
    /// - Parameters:
    ///   - account: the only account that is accepted; nil for any.
    ///   - tellsFailures: whether to tell the customer about each failure. Without it, only a locked account and wrong
    ///     passwords are told, and the caller reports the other failures to the app.
    func signIn(as account: AccountID?, email: String?, tellsFailures: Bool = false) async -> SignIn {
        var prompt = SignInPrompt(email: email, passwordWasWrong: false)
        for _ in 0..<Self.passwordAttempts {
            guard let credentials = await onSheet({ await $0.signIn(prompt) }) else { return .cancelled }
            let request = SignInRequest(email: credentials.email, password: credentials.password, deviceID: deviceID)
            do {
                let report = beginReport()
                let response = try await client.signIn(request)
                _ = isNewest(report)
                let signedIn = AccountTokens.SignedIn(token: response.token, account: response.account)
                let before = storefront
                // A token that cannot be saved is still valid for this process.
                try? tokens.keep(signedIn, asCurrent: account == nil)
                if account == nil { moved(from: before, to: response.account.storefront) }
                whenSignedIn.withLock { $0 }(response.account.accountID)
                if let account, account != response.account.accountID { return .otherAccount(response.account) }
                return .signedIn(signedIn)
            } catch .refused(let refusal) where refusal.code == .wrongPassword {
                prompt.passwordWasWrong = true
                prompt.enteredEmail = credentials.email
            } catch .unreachable {
                if tellsFailures { await tell(.unreachable) }
                return .unreachable
            } catch {
                let failure = PaymentFailure(error)
                let isLocked = if case .refused(let refusal) = error { refusal.code == .accountLocked } else { false }
                if isLocked || tellsFailures { await tell(failure) }
                return .refused(failure)
            }
        }
        await tell(.forgotPassword)
        return .refused(.forgotPassword)
    }

    /// Requests products in the current account's storefront. It removes a token that the store rejects.
    func products(
        _ identifiers: [ProductID], isForSheet: Bool = false
    ) async throws(StoreFailure) -> ProductsResponse {
        try await ask(
            ProductsRequest(
                bundleID: bundleID, productIDs: identifiers, languages: languages, isForSheet: isForSheet ? true : nil))
    }

    /// Sends a products request for the current account, and saves the storefront of the response.
    func ask(_ request: ProductsRequest) async throws(StoreFailure) -> ProductsResponse {
        let before = storefront
        let report = beginReport()
        let response = try await send(request)
        if let customer = response.customer {
            learn(customer.account, report: report)
        } else if isNewest(report) {
            moved(from: before, to: response.storefront)
        }
        return response
    }

    /// Sends a products request with the current account's token. It removes a token that the store rejects.
    private func send(_ request: ProductsRequest) async throws(StoreFailure) -> ProductsResponse {
        // When the store has rejected a token, another app of the device may have a newer one.
        while let token = tokens.current?.token {
            do {
                return try await client.products(request, token: token)
            } catch {
                guard error == .notSignedIn else { throw error }
                try? tokens.drop(token)
            }
        }
        return try await client.products(request, token: nil)
    }

    /// Shows the sheet for a payment. If nobody is signed in, it asks the customer to sign in first.
    /// - Parameters:
    ///   - storefront: the storefront in which the payment was added; nil if it was unknown.
    ///   - shouldContinue: asks the app whether the payment continues in another storefront.
    func confirm(
        _ payment: PaymentValues, storefront: StorefrontDescription?,
        shouldContinue: @escaping @Sendable (StorefrontDescription) async -> Bool, isRepeat: Bool = false
    ) async -> PaymentQueueStateMachine.Confirmation {
        let account: AccountTokens.SignedIn
        if let current = tokens.current {
            account = current
        } else {
            switch await signIn(as: nil, email: nil) {
            case .signedIn(let signedIn): account = signedIn
            case .cancelled: return .refused(.cancelled)
            case .otherAccount: return .refused(.otherAccount)
            case .refused(let failure): return .refused(failure)
            case .unreachable: return .unreachable
            }
        }
        do {
            let productID = ProductID(payment.productIdentifier)
            let response = try await products([productID], isForSheet: true)
            guard tokens.current?.token == account.token else {
                return isRepeat
                    ? .unreachable
                    : await confirm(payment, storefront: storefront, shouldContinue: shouldContinue, isRepeat: true)
            }
            if let storefront, storefront != response.storefront, await !shouldContinue(response.storefront) {
                return .refused(.notAvailable)
            }
            guard response.customer?.account.canMakePayments != false else { return .refused(.notAllowed) }
            guard let product = response.products.first(where: { $0.productID == productID }) else {
                return .refused(.notAvailable)
            }
            let isOwned = response.customer?.ownedProductIDs.contains(productID) == true
            return await ask(payment, product, account.account, isOwned: isOwned)
        } catch {
            return error == .unreachable ? .unreachable : .refused(PaymentFailure(error))
        }
    }

    private func ask(
        _ payment: PaymentValues, _ product: ProductDescription, _ account: AccountDescription, isOwned: Bool
    ) async -> PaymentQueueStateMachine.Confirmation {
        let price = product.price(withOffer: payment.offerID)
        guard let unitPrice = Decimal(string: price.decimal, locale: Locale(identifier: "en_US_POSIX")) else {
            return .unreachable
        }
        let request = PaymentSheetRequest(
            productIdentifier: payment.productIdentifier, productName: product.displayName, unitPrice: unitPrice,
            quantity: payment.quantity, priceLocale: Locale(identifier: product.priceLocale), account: account.email,
            isAlreadyOwned: isOwned)
        switch await onSheet({ await $0.confirm(request) }) {
        case .buy:
            // The sheet shows an owned product as free, so the agreed price is zero.
            let agreed = isOwned ? Money(milliunits: 0, currency: product.price.currency) : price
            return .agreed(account: account.accountID, price: agreed)
        case .cancel: return .refused(.cancelled)
        }
    }

    /// Shows a failure to the customer.
    func tell(_ failure: PaymentFailure) async {
        let notice = PaymentSheetNotice(text: failure.text(in: languages))
        await onSheet { await $0.tell(notice) }
    }

    /// Runs `body` with the account's token. If the store rejects the token and `mayAsk` is true, it asks the customer
    /// to sign in to that account again.
    func asAccount<Value: Sendable>(
        _ account: AccountID, mayAsk: Bool, _ body: (String) async throws(StoreFailure) -> Value
    ) async throws(StoreFailure) -> Value {
        // A concurrent request may have removed a rejected token, so the address is read first.
        let email = tokens.email(of: account)
        // When the store has rejected a token, another app of the device may have a newer one.
        while let signedIn = tokens.signedIn(account) {
            do {
                return try await body(signedIn.token)
            } catch {
                guard error == .notSignedIn else { throw error }
                try? tokens.drop(signedIn.token)
            }
        }
        guard mayAsk, !declined.withLock({ $0.contains(account) }) else { throw .notSignedIn }
        switch await signIn(as: account, email: email) {
        case .signedIn(let signedIn): return try await body(signedIn.token)
        case .cancelled, .refused:
            _ = declined.withLock { $0.insert(account) }
            throw .notSignedIn
        case .unreachable: throw .unreachable
        case .otherAccount(let other):
            // The same address has another account identifier: this is not the store in which the purchase began, so a
            // retry can never succeed.
            guard let email, other.email.hasSameBytes(as: email) else {
                _ = declined.withLock { $0.insert(account) }
                throw .notSignedIn
            }
            throw .refused(WireError(code: .notSignedIn, message: PaymentFailure.otherAccount.text))
        }
    }

    func onSheet<Value: Sendable>(_ body: (any PaymentSheet) async -> Value) async -> Value {
        await sheetAccess.enter()
        let answer = await body(sheet)
        await sheetAccess.leave()
        return answer
    }
}
