import Foundation

/// Shows what is neither the app's nor a payment: a page of the store, and the question for a review. On Apple's
/// systems these are screens of the system; here the app or a test may supply its own.
public protocol StorePresenter: Sendable {
    /// Shows the page until the customer is done with it. One page or question is shown at a time.
    func show(_ page: StoreProductPage) async -> StoreProductPageAnswer

    /// Asks the customer to rate the app. What is answered is not told to the app, as at Apple's.
    func askForReview(ofApp bundleIdentifier: String) async
}

/// A page of the store: an app, or one of its products.
public struct StoreProductPage: Sendable, Equatable {
    /// A product on a page.
    public struct Product: Sendable, Equatable {
        public var productIdentifier: String
        public var name: String
        /// In the customer's language.
        public var description: String
        public var price: Decimal
        /// Formats the price with its currency.
        public var priceLocale: Locale

        /// The price as the customer reads it: `$0.99`.
        public var formattedPrice: String {
            let formatter = NumberFormatter()
            formatter.numberStyle = .currency
            formatter.locale = priceLocale
            return formatter.string(from: NSDecimalNumber(decimal: price)) ?? "\(price)"
        }
    }

    /// The store's number of the app or product; nil when the product was asked for by its identifier.
    public var itemIdentifier: Int64?
    /// The app that the page is of.
    public var bundleIdentifier: String
    /// Nil when the store does not know it.
    public var appName: String?
    /// Nil on an app's page.
    public var product: Product?
    /// Whether ``StoreProductPageAnswer/buy`` can be answered: the product is one of this app.
    public var isForSale: Bool
}

/// How the customer left a page.
public enum StoreProductPageAnswer: Sendable, Equatable {
    /// Closed it.
    case done
    /// Wants the product: a payment is added to the queue, and the payment sheet comes up.
    case buy
}

/// Shows pages on the terminal. Without one nothing can be asked: a page is closed at once, and no review is asked for.
public struct TerminalStorePresenter: StorePresenter {
    public init() {}

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

    public func askForReview(ofApp bundleIdentifier: String) async {
        guard TerminalPaymentSheet.hasTerminal else { return }
        let name = TerminalPaymentSheet.printable(bundleIdentifier)
        TerminalPaymentSheet.say("\nEnjoying \(name)? Rate it with 1 to 5 stars (empty to say nothing): ")
        _ = await TerminalPaymentSheet.readLine()
    }

    static func text(of page: StoreProductPage) -> String {
        let app = TerminalPaymentSheet.printable(page.appName ?? page.bundleIdentifier)
        guard let product = page.product else { return "\n  \(app)\n" }
        var lines = ["", "  \(TerminalPaymentSheet.printable(product.name))  \(product.formattedPrice)"]
        if !product.description.isEmpty { lines.append("  \(TerminalPaymentSheet.printable(product.description))") }
        return (lines + ["  from \(app)", ""]).joined(separator: "\n")
    }
}
