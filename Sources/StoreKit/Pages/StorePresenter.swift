import Foundation
import StoreWire

/// Shows store pages and review requests. On Apple's systems the operating system shows them. Here the app or a test
/// can supply its own presenter.
public protocol StorePresenter: Sendable {
    /// Shows the page until the customer dismisses it. StoreKit shows one page or review request at a time.
    func show(_ page: StoreProductPage) async -> StoreProductPageAnswer

    /// Shows the page until the customer dismisses it, or until `ended` returns: for an item with a page in a browser,
    /// that is when the customer has bought the item there or closed the page. A presenter that shows no such page need
    /// not implement this.
    func show(
        _ page: StoreProductPage, until ended: @escaping @Sendable () async -> Void
    ) async -> StoreProductPageAnswer

    /// Tells the customer how buying an item on a page ended. Does nothing unless implemented.
    func tell(_ sentence: String) async

    /// Asks the customer to rate the app with one to five stars.
    /// - Returns: the stars; nil when the customer chose not to rate it now. StoreKit sends them to the store. As in
    ///   Apple's StoreKit, the caller of ``SKStoreReviewController/requestReview()`` does not learn them.
    func askForReview(ofApp bundleIdentifier: String) async -> Int?

    /// The address to which the browser returns from an item's page, such as the app's own page; nil when the page says
    /// that the customer can return to the app. It can only be of this machine, as
    /// ``WebPaymentSheet/returnAddress``.
    var returnAddress: URL? { get }
}

extension StorePresenter {
    /// Nil.
    public var returnAddress: URL? { nil }

    /// Shows the page without regard to `ended`.
    public func show(
        _ page: StoreProductPage, until ended: @escaping @Sendable () async -> Void
    ) async -> StoreProductPageAnswer { await show(page) }

    /// Does nothing.
    public func tell(_ sentence: String) async {}
}

/// A page of the store: an app, one of its products, or another item of the storefront, such as a song.
public struct StoreProductPage: Sendable, Equatable {
    /// An item of the storefront on a page.
    public struct Item: Sendable, Equatable {
        /// The item's name in the customer's language.
        public var name: String
        /// The developer, artist, author, director or show.
        public var creator: String
        /// The price as the customer reads it (`$0.69`, `Free`); nil when the item is not sold by itself.
        public var formattedPrice: String?
        /// Whether the customer owns the item.
        public var isOwned: Bool
        /// The address of the item's page for this customer, who can buy and review there for half an hour. Show it to
        /// nobody else.
        public var address: String
        /// The number of ratings in the customer's storefront.
        public var ratingCount = 0
        /// The average of the ratings, 1 to 5; nil without ratings.
        public var averageRating: Double?
        /// The newest reviews, newest first.
        public var reviews: [Review] = []
        /// The customer's own review; nil without one.
        public var ownReview: Review?
    }

    /// A customer's review of an item.
    public struct Review: Sendable, Equatable {
        /// One to five stars.
        public var stars: Int
        /// The title, at most 100 characters; nil for a rating alone.
        public var title: String?
        /// The text, at most 6,000 characters; nil exactly when ``title`` is nil.
        public var text: String?

        /// Creates a review.
        public init(stars: Int, title: String? = nil, text: String? = nil) {
            self.stars = stars
            self.title = title
            self.text = text
        }
    }

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
    /// Whether ``StoreProductPageAnswer/buy`` is a possible answer: the product belongs to this app, or the item can be
    /// bought.
    public var isForSale: Bool
    /// The storefront's item; nil when the storefront has none with this number, or nobody is signed in.
    public var item: Item?
    /// The visit behind ``item``.
    var visit: VisitDescription?
    /// Whether ``product`` is the app's own, which is bought through its queue.
    package var isOfThisApp = false

    /// Whether ``StoreProductPageAnswer/review(_:)`` is a possible answer: the customer owns the item.
    public var isReviewable: Bool { visit != nil && !isOfThisApp && item?.isOwned == true }
}

/// The customer's answer to a page.
public enum StoreProductPageAnswer: Sendable, Equatable {
    /// The customer closed the page.
    case done
    /// The customer wants the product or the item. For a product, StoreKit adds a payment to the queue and shows the
    /// payment sheet. An item is bought at once at the price on the page.
    case buy
    /// The customer rates or reviews the item. StoreKit sends the review to the store, tells the customer how that
    /// ended, and shows the page again.
    case review(StoreProductPage.Review)
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
        TerminalPaymentSheet.say(Self.question(about: page))
        let line = await Self.line()?.lowercased()
        if page.isForSale, line == "b" || line == "buy" { return .buy }
        guard page.isReviewable, line == "r" || line == "review" else { return .done }
        return await Self.readReview().map { .review($0) } ?? .done
    }

    static func question(about page: StoreProductPage) -> String {
        (page.isForSale ? "[b]uy or " : "") + (page.isReviewable ? "[r]eview or " : "") + "[d]one? "
    }

    /// Asks for a rating, a title and a text of one line each; nil when the customer gives no stars.
    private static func readReview() async -> StoreProductPage.Review? {
        TerminalPaymentSheet.say("Stars, 1 to 5 ([c]ancel): ")
        guard let stars = stars(await line()) else { return nil }
        TerminalPaymentSheet.say("Title (Enter for stars alone): ")
        guard let title = await line(), !title.isEmpty else { return StoreProductPage.Review(stars: stars) }
        TerminalPaymentSheet.say("Review, one line: ")
        guard let text = await line(), !text.isEmpty else { return StoreProductPage.Review(stars: stars) }
        return StoreProductPage.Review(stars: stars, title: title, text: text)
    }

    private static func line() async -> String? {
        await TerminalPaymentSheet.readLine()?.trimmingCharacters(in: .whitespaces)
    }

    /// Prints the sentence.
    public func tell(_ sentence: String) async {
        TerminalPaymentSheet.say("  \(TerminalPaymentSheet.printable(sentence))\n")
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

    private static func price(of item: StoreProductPage.Item) -> String {
        item.isOwned ? "owned" : TerminalPaymentSheet.printable(item.formattedPrice ?? "")
    }

    /// The place of all that the terminal does not show.
    private static func hint(at item: StoreProductPage.Item) -> String {
        "More at " + TerminalPaymentSheet.printable(item.address)
    }

    /// The lines about ratings and reviews; none without ratings.
    private static func reviews(of item: StoreProductPage.Item) -> [String] {
        var lines: [String] = []
        if let average = item.averageRating, item.ratingCount > 0 {
            let count = item.ratingCount == 1 ? "1 rating" : "\(item.ratingCount) ratings"
            let tenths = Int((min(max(average, 0), 5) * 10).rounded())
            lines.append("\(tenths / 10).\(tenths % 10) of 5 stars (\(count))")
        }
        lines += item.reviews.map { line(of: $0) }
        if let own = item.ownReview { lines.append("Your review: \(line(of: own))") }
        return lines
    }

    private static func line(of review: StoreProductPage.Review) -> String {
        let full = min(max(review.stars, 0), 5)
        let stars = String(repeating: "★", count: full) + String(repeating: "☆", count: 5 - full)
        let words = [review.title, review.text].compactMap { $0.map(TerminalPaymentSheet.printable) }
        return ([stars] + (words.isEmpty ? [] : [words.joined(separator: " – ")])).joined(separator: " ")
    }

    static func text(of page: StoreProductPage) -> String {
        let app = TerminalPaymentSheet.printable(page.appName ?? page.bundleIdentifier)
        if let item = page.item, page.product == nil {
            let lines =
                [
                    "\(TerminalPaymentSheet.printable(item.name))  \(price(of: item))",
                    "by \(TerminalPaymentSheet.printable(item.creator))",
                ] + reviews(of: item) + [hint(at: item)]
            return "\n" + lines.map { "  \($0)\n" }.joined()
        }
        guard let product = page.product else { return "\n  \(app)\n" }
        var lines = ["", "  \(TerminalPaymentSheet.printable(product.name))  \(product.formattedPrice)"]
        if !product.description.isEmpty { lines.append("  \(TerminalPaymentSheet.printable(product.description))") }
        lines.append("  from \(app)")
        if let item = page.item {
            // "Buy" buys the app, when the product belongs to another one.
            if !page.isOfThisApp { lines[lines.count - 1] += "  \(price(of: item))" }
            lines += reviews(of: item).map { "  \($0)" }
            lines.append("  \(hint(at: item))")
        }
        return (lines + [""]).joined(separator: "\n")
    }
}

/// Prints pages and gives the same answer to each, for scripts and tests. It asks for no review.
public struct AutomaticStorePresenter: StorePresenter {
    private let answer: StoreProductPageAnswer
    private let terminal = TerminalStorePresenter()

    /// Creates a presenter that answers `answer` to every page. ``StoreProductPageAnswer/buy`` buys all that is shown
    /// and for sale.
    public init(answer: StoreProductPageAnswer) { self.answer = answer }

    /// Prints the page, and returns the answer given at creation.
    public func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
        TerminalPaymentSheet.say(TerminalStorePresenter.text(of: page))
        return answer
    }

    /// Prints the sentence.
    public func tell(_ sentence: String) async { await terminal.tell(sentence) }

    /// Returns nil.
    public func askForReview(ofApp bundleIdentifier: String) async -> Int? { nil }
}

/// Shows the pages of items in a browser: it gives out the page's address, and waits until the customer has bought the
/// item there or closed the page. Other pages are shown as on a terminal.
public struct WebStorePresenter: StorePresenter {
    private let terminal = TerminalStorePresenter()
    private let open: @Sendable (String) -> Void

    /// Creates a presenter.
    /// - Parameter open: receives the address of each page, to open or print it.
    public init(open: @escaping @Sendable (String) -> Void) { self.open = open }

    /// Shows a page that has no page in a browser.
    public func show(_ page: StoreProductPage) async -> StoreProductPageAnswer { await terminal.show(page) }

    /// Gives out the address, and waits for the end.
    public func show(
        _ page: StoreProductPage, until ended: @escaping @Sendable () async -> Void
    ) async -> StoreProductPageAnswer {
        // The app's own product is bought through its queue, not on the page.
        guard let item = page.item, !page.isOfThisApp else { return await terminal.show(page) }
        open(item.address)
        await ended()
        return .done
    }

    /// Asks on the terminal.
    public func askForReview(ofApp bundleIdentifier: String) async -> Int? {
        await terminal.askForReview(ofApp: bundleIdentifier)
    }
}
