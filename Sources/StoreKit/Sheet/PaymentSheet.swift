import Foundation

/// Asks the customer: to sign in, and whether to buy. StoreKit shows one sheet at a time.
public protocol PaymentSheet: Sendable {
    /// Shows what will be bought for how much, and waits for the answer.
    func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer
    /// Asks for an account; nil cancels the purchase. A wrong password asks again, a few times.
    func signIn(_ prompt: SignInPrompt) async -> StoreCredentials?
    /// Tells the customer that something went wrong. The next sheet and the failed transaction wait until it returns, so a notice that nobody may
    /// read for long is shown and left. A sheet without this method says nothing.
    func tell(_ notice: PaymentSheetNotice) async
    /// Asks for a code to redeem; nil cancels. A sheet without this method cancels.
    func redeemCode(_ prompt: RedemptionPrompt) async -> String?
    /// Asks whether a subscription may cost more. A sheet without this method leaves it open.
    func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer
}

extension PaymentSheet {
    public func tell(_ notice: PaymentSheetNotice) async {}
    public func redeemCode(_ prompt: RedemptionPrompt) async -> String? { nil }
    public func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer { .later }
}

/// What the sheet shows.
public struct PaymentSheetRequest: Sendable, Equatable {
    public var productIdentifier: String
    public var productName: String
    /// The exact price of one.
    public var unitPrice: Decimal
    public var quantity: Int
    /// The exact price of all; nothing when it is owned already.
    public var total: Decimal
    /// Formats the prices with their currency.
    public var priceLocale: Locale
    /// The e-mail address of the account that pays.
    public var account: String
    /// Whether the account bought it before and gets it again for free.
    public var isAlreadyOwned: Bool

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

/// What the customer chose.
public enum PaymentSheetAnswer: Sendable, Equatable {
    case buy
    case cancel
}

/// Something that went wrong, for the customer to read.
public struct PaymentSheetNotice: Sendable, Equatable {
    /// A sentence in the customer's language.
    public var text: String

    public init(text: String) { self.text = text }
}

/// Why a code is asked for.
public struct RedemptionPrompt: Sendable, Equatable {
    /// What was wrong with the last answer, in the customer's language; nil at first.
    public var problem: String?

    public init(problem: String?) { self.problem = problem }
}

/// A subscription that will cost more if the customer agrees.
public struct PriceIncreaseRequest: Sendable, Equatable {
    public var productIdentifier: String
    public var productName: String
    /// The exact price of a period now.
    public var oldPrice: Decimal
    /// The exact price of a period to come.
    public var newPrice: Decimal
    /// Formats the prices with their currency.
    public var priceLocale: Locale

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

/// What the customer says of a price increase.
public enum PriceIncreaseAnswer: Sendable, Equatable {
    case accept
    case decline
    /// Not now: asked again at the next launch.
    case later
}

/// Why the customer is asked to sign in.
public struct SignInPrompt: Sendable, Equatable {
    /// The account that must sign in, when it is a certain one.
    public var email: String?
    /// Whether the last answer's password was wrong.
    public var passwordWasWrong: Bool

    public init(email: String?, passwordWasWrong: Bool) {
        self.email = email
        self.passwordWasWrong = passwordWasWrong
    }
}

/// An account's e-mail address and password. Its description leaves the password out.
public struct StoreCredentials: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    public var email: String
    public var password: String

    public init(email: String, password: String) {
        self.email = email
        self.password = password
    }

    public var description: String { "StoreCredentials(\(email))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["email": email]) }
}
