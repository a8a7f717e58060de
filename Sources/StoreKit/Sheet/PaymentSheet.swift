import Foundation

/// Asks the customer to sign in and to confirm payments. StoreKit shows one sheet at a time.
public protocol PaymentSheet: Sendable {
    /// Shows the product and its price, and returns the customer's answer.
    func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer
    /// Asks for an account; nil cancels the purchase. StoreKit asks again after a wrong password, a few times.
    func signIn(_ prompt: SignInPrompt) async -> StoreCredentials?
    /// Tells the customer about a failure. The next sheet and the failed transaction wait until this method returns, so
    /// a sheet should show a notice and return at once if nobody may read it for long. The default does nothing.
    func tell(_ notice: PaymentSheetNotice) async
    /// Asks for an offer code; nil cancels. The default cancels.
    func redeemCode(_ prompt: RedemptionPrompt) async -> String?
    /// Asks the customer to consent to a subscription's price increase. The default answers
    /// ``PriceIncreaseAnswer/later``.
    func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer
    /// Asks why the customer wants a refund; nil cancels. The default cancels.
    func chooseRefundReason(_ prompt: RefundPrompt) async -> RefundPrompt.Reason?
}

extension PaymentSheet {
    /// Does nothing.
    public func tell(_ notice: PaymentSheetNotice) async {}
    /// Cancels.
    public func redeemCode(_ prompt: RedemptionPrompt) async -> String? { nil }
    /// Answers ``PriceIncreaseAnswer/later``.
    public func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer { .later }
    /// Cancels.
    public func chooseRefundReason(_ prompt: RefundPrompt) async -> RefundPrompt.Reason? { nil }
}

/// The content of a payment sheet.
public struct PaymentSheetRequest: Sendable, Equatable {
    /// The identifier of the product.
    public var productIdentifier: String
    /// The product's name in the customer's language.
    public var productName: String
    /// The exact price of one unit.
    public var unitPrice: Decimal
    /// The number of units.
    public var quantity: Int
    /// The exact price of all units; zero when the account already owns the product.
    public var total: Decimal
    /// The locale that formats the prices with their currency.
    public var priceLocale: Locale
    /// The e-mail address of the account that pays.
    public var account: String
    /// Whether the account bought the product before and gets it again for free.
    public var isAlreadyOwned: Bool

    /// Creates a request. ``total`` is the unit price times the quantity, or zero when `isAlreadyOwned` is true.
    public init(
        productIdentifier: String, productName: String, unitPrice: Decimal, quantity: Int, priceLocale: Locale,
        account: String, isAlreadyOwned: Bool = false
    ) {
        self.productIdentifier = productIdentifier
        self.productName = productName
        self.unitPrice = unitPrice
        self.quantity = quantity
        total = isAlreadyOwned ? 0 : unitPrice * Decimal(quantity)
        self.isAlreadyOwned = isAlreadyOwned
        self.priceLocale = priceLocale
        self.account = account
    }

    /// The unit price as the customer reads it: `$0.99`.
    public var formattedUnitPrice: String { priceLocale.formatted(unitPrice) }
    /// The total as the customer reads it.
    public var formattedTotal: String { priceLocale.formatted(total) }
}

extension Locale {
    /// An amount of the locale's currency as a customer reads it.
    fileprivate func formatted(_ amount: Decimal) -> String {
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = self
        return formatter.string(from: NSDecimalNumber(decimal: amount)) ?? "\(amount)"
    }
}

/// The customer's answer to a payment sheet.
public enum PaymentSheetAnswer: Sendable, Equatable {
    /// The customer agrees to buy.
    case buy
    /// The customer cancels the purchase.
    case cancel
}

/// A failure, for the customer to read.
public struct PaymentSheetNotice: Sendable, Equatable {
    /// A sentence in the customer's language.
    public var text: String

    /// Creates a notice.
    public init(text: String) { self.text = text }
}

/// A request for an offer code.
public struct RedemptionPrompt: Sendable, Equatable {
    /// The reason why the store refused the last code, in the customer's language; nil at first.
    public var problem: String?

    /// Creates a prompt.
    public init(problem: String?) { self.problem = problem }
}

/// A subscription's price increase that needs the customer's consent.
public struct PriceIncreaseRequest: Sendable, Equatable {
    /// The identifier of the subscription.
    public var productIdentifier: String
    /// The subscription's name in the customer's language.
    public var productName: String
    /// The exact price of the current period.
    public var oldPrice: Decimal
    /// The exact price of future periods.
    public var newPrice: Decimal
    /// The locale that formats the prices with their currency.
    public var priceLocale: Locale

    /// Creates a request.
    public init(
        productIdentifier: String, productName: String, oldPrice: Decimal, newPrice: Decimal, priceLocale: Locale
    ) {
        self.productIdentifier = productIdentifier
        self.productName = productName
        self.oldPrice = oldPrice
        self.newPrice = newPrice
        self.priceLocale = priceLocale
    }

    /// The old price as the customer reads it.
    public var formattedOldPrice: String { priceLocale.formatted(oldPrice) }
    /// The new price as the customer reads it.
    public var formattedNewPrice: String { priceLocale.formatted(newPrice) }
}

/// The customer's answer to a price increase.
public enum PriceIncreaseAnswer: Sendable, Equatable {
    /// The customer consents: the subscription renews at the new price.
    case accept
    /// The customer declines: the subscription ends with its current period.
    case decline
    /// The customer has not decided. StoreKit asks again at the next launch.
    case later
}

/// A request for the reason of a refund.
public struct RefundPrompt: Sendable, Equatable {
    /// The reasons that the customer can choose from. The raw values are Apple's `consumptionRequestReason`.
    public enum Reason: String, Sendable, CaseIterable {
        /// The customer did not intend to buy.
        case unintendedPurchase = "UNINTENDED_PURCHASE"
        /// The customer did not get the product, or cannot use it.
        case fulfillmentIssue = "FULFILLMENT_ISSUE"
        /// The customer is not satisfied with the product.
        case unsatisfied = "UNSATISFIED_WITH_PURCHASE"
        /// A legal reason.
        case legal = "LEGAL"
        /// Another reason.
        case other = "OTHER"

        /// The reason as the customer reads it, in English.
        public var words: String {
            switch self {
            case .unintendedPurchase: "I did not mean to buy this"
            case .fulfillmentIssue: "I did not get this, or it does not work"
            case .unsatisfied: "I am not satisfied with this"
            case .legal: "A legal reason"
            case .other: "Another reason"
            }
        }
    }

    /// The identifier of the product.
    public var productIdentifier: String
    /// The product's name in the customer's language; its identifier when the store does not sell it any more.
    public var productName: String
    /// The exact amount that was paid.
    public var price: Decimal
    /// The locale that formats the price with its currency.
    public var priceLocale: Locale
    /// The e-mail address of the account that paid.
    public var account: String

    /// Creates a prompt.
    public init(productIdentifier: String, productName: String, price: Decimal, priceLocale: Locale, account: String) {
        self.productIdentifier = productIdentifier
        self.productName = productName
        self.price = price
        self.priceLocale = priceLocale
        self.account = account
    }

    /// The price as the customer reads it: `$0.99`.
    public var formattedPrice: String { priceLocale.formatted(price) }
}

/// A request to sign in.
public struct SignInPrompt: Sendable, Equatable {
    /// The e-mail address of the account that must sign in; nil for any account.
    public var email: String?
    /// Whether the last password was wrong.
    public var passwordWasWrong: Bool
    /// The e-mail address that the customer entered with the wrong password, to begin with.
    public var enteredEmail: String?

    /// Creates a prompt.
    public init(email: String?, passwordWasWrong: Bool, enteredEmail: String? = nil) {
        self.email = email
        self.passwordWasWrong = passwordWasWrong
        self.enteredEmail = enteredEmail
    }
}

/// An account's e-mail address and password. Descriptions and mirrors omit the password.
public struct StoreCredentials: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The account's e-mail address.
    public var email: String
    /// The account's password; secret.
    public var password: String

    /// Creates credentials.
    public init(email: String, password: String) {
        self.email = email
        self.password = password
    }

    /// The e-mail address, without the password.
    public var description: String { "StoreCredentials(\(email))" }
    /// ``description``.
    public var debugDescription: String { description }
    /// A mirror of the e-mail address, without the password.
    public var customMirror: Mirror { Mirror(self, children: ["email": email]) }
}
