import Foundation

/// Asks the customer: to sign in, and whether to buy. StoreKit shows one sheet at a time.
public protocol PaymentSheet: Sendable {
    /// Shows what will be bought for how much, and waits for the answer.
    func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer
    /// Asks for an account; nil cancels the purchase. A wrong password asks again, a few times.
    func signIn(_ prompt: SignInPrompt) async -> StoreCredentials?
}

/// What the sheet shows.
public struct PaymentSheetRequest: Sendable, Equatable {
    public var productIdentifier: String
    public var productName: String
    /// The exact price of one.
    public var unitPrice: Decimal
    public var quantity: Int
    /// The exact price of all.
    public var total: Decimal
    /// Formats the prices with their currency.
    public var priceLocale: Locale
    /// The e-mail address of the account that pays.
    public var account: String

    public init(
        productIdentifier: String, productName: String, unitPrice: Decimal, quantity: Int, priceLocale: Locale,
        account: String
    ) {
        self.productIdentifier = productIdentifier
        self.productName = productName
        self.unitPrice = unitPrice
        self.quantity = quantity
        total = unitPrice * Decimal(quantity)
        self.priceLocale = priceLocale
        self.account = account
    }

    /// The unit price as the customer reads it: `$0.99`.
    public var formattedUnitPrice: String { format(unitPrice) }
    /// The total as the customer reads it.
    public var formattedTotal: String { format(total) }

    private func format(_ amount: Decimal) -> String {
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = priceLocale
        return formatter.string(from: NSDecimalNumber(decimal: amount)) ?? "\(amount)"
    }
}

/// What the customer chose.
public enum PaymentSheetAnswer: Sendable, Equatable {
    case buy
    case cancel
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
