import Foundation
import StoreWire
import Synchronization

/// This device at its store: who is signed in, and the conversations that need the customer.
final class StoreSession: Sendable {
    let client: StoreClient
    let tokens: AccountTokens
    let deviceID: UUID
    let bundleID: BundleID
    let languages: [String]
    let sheet: any PaymentSheet
    private let sheetTurns = Turns()
    private let lastStorefront = Mutex<StorefrontDescription?>(nil)
    /// The addresses of the accounts for which the customer asked something, to name one when it has to sign in again.
    let customers = Mutex<[AccountID: String]>([:])
    /// The accounts whose sign-in was cancelled: they are not asked for again before the next launch.
    private let declined = Mutex<Set<AccountID>>([])

    init(
        client: StoreClient, tokens: AccountTokens, deviceID: UUID, bundleID: BundleID, languages: [String],
        sheet: any PaymentSheet
    ) {
        self.client = client
        self.tokens = tokens
        self.deviceID = deviceID
        self.bundleID = bundleID
        self.languages = languages
        self.sheet = sheet
    }

    /// The storefront as the store last said it.
    var storefront: StorefrontDescription? {
        lastStorefront.withLock { $0 } ?? tokens.current?.account.storefront
    }

    /// Passwords that may be tried in one go.
    static let passwordAttempts = 3

    enum SignIn: Sendable {
        case signedIn(AccountTokens.SignedIn)
        /// The store knows the customer, but not as the account that was asked for.
        case otherAccount(AccountDescription)
        case cancelled
        case refused(PaymentFailure)
        case unreachable
    }

    /// Asks the customer to sign in. With `account`, only that one will do.
    func signIn(as account: AccountID?, email: String?) async -> SignIn {
        var prompt = SignInPrompt(email: email, passwordWasWrong: false)
        for _ in 0..<Self.passwordAttempts {
            guard let credentials = await onSheet({ await $0.signIn(prompt) }) else { return .cancelled }
            let request = SignInRequest(email: credentials.email, password: credentials.password, deviceID: deviceID)
            do {
                let response = try await client.signIn(request)
                let signedIn = AccountTokens.SignedIn(token: response.token, account: response.account)
                // A token that cannot be written still serves this process.
                try? tokens.keep(signedIn, asCurrent: account == nil)
                if let account, account != response.account.accountID { return .otherAccount(response.account) }
                return .signedIn(signedIn)
            } catch .refused(let refusal) where refusal.code == .wrongPassword {
                prompt.passwordWasWrong = true
            } catch .unreachable {
                return .unreachable
            } catch {
                return .refused(PaymentFailure(error))
            }
        }
        return .refused(.wrongPassword)
    }

    /// The store's words on some products, in the current account's storefront. A token that is no longer good is
    /// forgotten.
    func products(_ identifiers: [ProductID]) async throws(StoreFailure) -> ProductsResponse {
        let request = ProductsRequest(bundleID: bundleID, productIDs: identifiers, languages: languages)
        let response: ProductsResponse
        let token = tokens.current?.token
        do {
            response = try await client.products(request, token: token)
        } catch {
            guard error == .notSignedIn, let token else { throw error }
            try? tokens.drop(token)
            response = try await client.products(request, token: nil)
        }
        lastStorefront.withLock { $0 = response.storefront }
        return response
    }

    /// Shows the sheet for a payment, signing in first when nobody is.
    func confirm(_ payment: PaymentValues, isRepeat: Bool = false) async -> PaymentQueueStateMachine.Confirmation {
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
            let response = try await products([productID])
            guard tokens.current?.token == account.token else {
                return isRepeat ? .unreachable : await confirm(payment, isRepeat: true)
            }
            guard let product = response.products.first(where: { $0.productID == productID }) else {
                return .refused(.notAvailable)
            }
            return await ask(payment, product, account.account)
        } catch {
            return error == .unreachable ? .unreachable : .refused(PaymentFailure(error))
        }
    }

    private func ask(
        _ payment: PaymentValues, _ product: ProductDescription, _ account: AccountDescription
    ) async -> PaymentQueueStateMachine.Confirmation {
        guard let unitPrice = Decimal(string: product.price.decimal, locale: Locale(identifier: "en_US_POSIX")) else {
            return .unreachable
        }
        let request = PaymentSheetRequest(
            productIdentifier: payment.productIdentifier, productName: product.displayName, unitPrice: unitPrice,
            quantity: payment.quantity, priceLocale: Locale(identifier: product.priceLocale), account: account.email)
        switch await onSheet({ await $0.confirm(request) }) {
        case .buy: return .agreed(account: account.accountID, price: product.price)
        case .cancel: return .refused(.cancelled)
        }
    }

    /// Runs `body` with the account's token, signing in again as that account when the token is no longer good.
    func asAccount<Value: Sendable>(
        _ account: AccountID, mayAsk: Bool, _ body: (String) async throws(StoreFailure) -> Value
    ) async throws(StoreFailure) -> Value {
        var email: String?
        if let signedIn = tokens.signedIn(account) {
            do {
                return try await body(signedIn.token)
            } catch {
                guard error == .notSignedIn else { throw error }
                email = signedIn.account.email
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
            // The same customer under another id: this store is not the one that began it, and never will be.
            guard other.email == email else {
                _ = declined.withLock { $0.insert(account) }
                throw .notSignedIn
            }
            throw .refused(WireError(code: .notSignedIn, message: PaymentFailure.otherAccount.text))
        }
    }

    private func onSheet<Value: Sendable>(_ body: (any PaymentSheet) async -> Value) async -> Value {
        await sheetTurns.take()
        let answer = await body(sheet)
        await sheetTurns.give()
        return answer
    }
}
