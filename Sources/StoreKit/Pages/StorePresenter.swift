import Foundation

/// Shows store pages and review requests. On Apple's systems the operating system shows them. Here the app or a test
/// can supply its own presenter.
public protocol StorePresenter: Sendable {
    /// Shows the page until the customer dismisses it. StoreKit shows one page or review request at a time.
    func show(_ page: StoreProductPage) async -> StoreProductPageAnswer

    /// Asks the customer to rate the app with one to five stars.
    /// - Returns: the stars; nil when the customer chose not to rate it now. StoreKit sends them to the store. As in
    ///   Apple's StoreKit, the caller of ``SKStoreReviewController/requestReview()`` does not learn them.
    func askForReview(ofApp bundleIdentifier: String) async -> Int?
}

/// A page of the store: an app, or one of its products.
public struct StoreProductPage: Sendable, Equatable {
    /// A product on a page.
    public struct Product: Sendable, Equatable {
        /// The product's identifier.
        public var productIdentifier: String
        /// The product's name in the customer's language.
        public var name: String
        /// The product's description in the customer's language.
        public var description: String
        /// The exact price of one unit.
        public var price: Decimal
        /// The locale that formats the price with its currency.
        public var priceLocale: Locale

        /// The price as the customer reads it: `$0.99`.
        public var formattedPrice: String {
            let formatter = NumberFormatter()
            formatter.numberStyle = .currency
            formatter.locale = priceLocale
            return formatter.string(from: NSDecimalNumber(decimal: price)) ?? "\(price)"
        }
    }

    /// The store's item number of the app or product; nil when the app named the product by its identifier.
    public var itemIdentifier: Int64?
    /// The bundle identifier of the page's app.
    public var bundleIdentifier: String
    /// The app's name; nil when the store does not know it.
    public var appName: String?
    /// The product on the page; nil on an app's page.
    public var product: Product?
    /// Whether ``StoreProductPageAnswer/buy`` is a possible answer: the product belongs to this app.
    public var isForSale: Bool
}

/// The customer's answer to a page.
public enum StoreProductPageAnswer: Sendable, Equatable {
    /// The customer closed the page.
    case done
    /// The customer wants the product. StoreKit adds a payment to the queue and shows the payment sheet.
    case buy
}

/// Shows pages on the terminal. Without a terminal it closes a page at once and asks for no review.
public struct TerminalStorePresenter: StorePresenter {
    /// Creates a presenter.
    public init() {}

    /// Prints the page and reads the answer.
    public func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
        TerminalPaymentSheet.say(Self.text(of: page))
        guard TerminalPaymentSheet.hasTerminal else {
            TerminalPaymentSheet.say("\n")
            return .done
        }
        TerminalPaymentSheet.say(page.isForSale ? "[b]uy or [d]one? " : "[d]one? ")
        let line = await TerminalPaymentSheet.readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
        return page.isForSale && (line == "b" || line == "buy") ? .buy : .done
    }

    /// Asks for 1 to 5 stars. Any other answer is "not now". Does nothing without a terminal.
    public func askForReview(ofApp bundleIdentifier: String) async -> Int? {
        guard TerminalPaymentSheet.hasTerminal else { return nil }
        let name = TerminalPaymentSheet.printable(bundleIdentifier)
        TerminalPaymentSheet.say("\nEnjoying \(name)? Rate it in the store with 1 to 5 stars ([n]ot now): ")
        return Self.stars(await TerminalPaymentSheet.readLine())
    }

    /// The stars in a typed answer; nil for any other answer.
    static func stars(_ line: String?) -> Int? {
        Int(line?.trimmingCharacters(in: .whitespaces) ?? "").flatMap { (1...5).contains($0) ? $0 : nil }
    }

    static func text(of page: StoreProductPage) -> String {
        let app = TerminalPaymentSheet.printable(page.appName ?? page.bundleIdentifier)
        guard let product = page.product else { return "\n  \(app)\n" }
        var lines = ["", "  \(TerminalPaymentSheet.printable(product.name))  \(product.formattedPrice)"]
        if !product.description.isEmpty { lines.append("  \(TerminalPaymentSheet.printable(product.description))") }
        return (lines + ["  from \(app)", ""]).joined(separator: "\n")
    }
}
