import Foundation
import StoreWire

/// The store pages, review requests and promotion settings of an app on this device.
struct StorePages: Sendable {
    let presenter: any StorePresenter
    let bundleIdentifier: String
    let reviews: DeviceRecord<ReviewHistory>
    let promotions: DeviceRecord<PromotionOverrides>
    private let access = SerialAccess()

    /// - Parameter folder: the app's folder on this device; nil while nothing is configured.
    init(presenter: any StorePresenter, bundleIdentifier: String, folder: URL?) {
        self.presenter = presenter
        self.bundleIdentifier = bundleIdentifier
        reviews = DeviceRecord(file: folder?.appendingPathComponent("reviews.json"), empty: ReviewHistory())
        promotions = DeviceRecord(file: folder?.appendingPathComponent("promotions.json"), empty: PromotionOverrides())
    }

    /// Shows one page at a time.
    func show(
        _ page: StoreProductPage, until ended: @escaping @Sendable () async -> Void
    ) async -> StoreProductPageAnswer {
        await access.enter()
        let answer = await presenter.show(page, until: ended)
        await access.leave()
        return answer
    }

    /// Asks for a review, unless the limit is reached. It records the request on disk before it shows it.
    /// - Returns: the customer's stars, 1 to 5; nil without an answer.
    func requestReview(at date: Date) async -> Int? {
        let milliseconds = Int64(date.timeIntervalSince1970 * 1000)
        guard (try? reviews.change { $0.mayShow(at: milliseconds) }) == true else { return nil }
        await access.enter()
        let stars = await presenter.askForReview(ofApp: bundleIdentifier)
        await access.leave()
        return stars.flatMap { (1...5).contains($0) ? $0 : nil }
    }
}

/// The times at which one app asked the customer for a review.
struct ReviewHistory: Codable, Sendable, Equatable {
    /// Apple: "the system displays the prompt a maximum of three times within a 365-day period".
    static let mostInSpan = 3
    static let span: Int64 = 365 * 86_400_000

    /// The times of the requests, in milliseconds since 1970.
    private(set) var shown: [Int64] = []

    /// Whether the app may ask now. If it may, the request is counted.
    mutating func mayShow(at milliseconds: Int64) -> Bool {
        // A time more than a year ahead comes from a wrong clock, and must not suppress requests for ever.
        shown.removeAll { $0 <= milliseconds - Self.span || $0 >= milliseconds + Self.span }
        guard shown.count < Self.mostInSpan else { return false }
        shown.append(milliseconds)
        return true
    }
}

extension StoreKitEngine {
    /// Asks the customer to rate the app, and sends the rating to the store. Nothing is shown while no store is
    /// configured. A rating that the store does not receive is lost; diagnostics say so.
    func requestReview(at date: Date) async {
        guard let session, let stars = await pages.requestReview(at: date) else { return }
        do throws(StoreFailure) {
            try await session.rate(stars)
        } catch {
            diagnostics("the rating was not sent: \(error)")
        }
    }

    /// Shows a page until the customer dismisses it, and buys what the customer wants from it.
    func show(_ page: StoreProductPage) async {
        if page.product == nil, let visit = page.visit, let item = page.itemIdentifier {
            return await show(page, of: item, visit)
        }
        guard await pages.show(page, until: {}) == .buy, page.isForSale, let product = page.product else { return }
        payments.add(PaymentValues(productIdentifier: product.productIdentifier))
    }

    /// Loads the page that a product view controller's parameters name.
    func page(_ wanted: StoreProductParameters) async -> Result<StoreProductPage, SKError> {
        guard let session else { return .failure(PaymentFailure.unreachable.error(in: languages)) }
        do throws(StoreFailure) {
            guard let page = try await session.page(wanted) else {
                return .failure(PaymentFailure.notAvailable.error(in: languages))
            }
            return .success(page)
        } catch {
            return .failure(PaymentFailure(error).error(in: languages))
        }
    }
}

extension StoreSession {
    /// Rates the app as the account that is signed in. If nobody is, it asks the customer to sign in first, and drops
    /// the rating when the customer cancels.
    fileprivate func rate(_ stars: Int) async throws(StoreFailure) {
        let account: AccountID
        if let current = tokens.current {
            account = current.account.accountID
        } else {
            guard case .signedIn(let signedIn) = await signIn(as: nil, email: nil) else { return }
            account = signedIn.account.accountID
        }
        let request = ReviewRequest(bundleID: bundleID, stars: stars)
        try await asAccount(account, mayAsk: true) { token throws(StoreFailure) in
            try await client.review(request, token: token)
        }
    }

    /// Opens the storefront's page of an item; nil when it has none, or when nobody is signed in.
    private func visit(_ item: Int64, _ product: ProductID?) async throws(StoreFailure) -> VisitDescription? {
        guard let account = tokens.current?.account.accountID else { return nil }
        let request = VisitRequest(item: item, productID: product)
        do throws(StoreFailure) {
            return try await asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                try await client.openVisit(request, token: token)
            }
        } catch {
            // The number of a product, or of nothing; or the customer does not sign in just to look.
            if error == .notSignedIn { return nil }
            if case .refused(let refusal) = error, refusal.code == .notFound { return nil }
            throw error
        }
    }

    /// Loads a page; nil when the store has no such page.
    fileprivate func page(_ wanted: StoreProductParameters) async throws(StoreFailure) -> StoreProductPage? {
        guard let itemID = wanted.itemIdentifier else {
            guard let productID = wanted.productIdentifier else { return nil }
            let answer = try await products([productID])
            return answer.products.first.flatMap {
                page(StoreItem(itemID: 0, bundleID: bundleID, appName: nil, product: $0), itemID: nil)
            }
        }
        let visit = try await visit(itemID, wanted.productIdentifier)
        let answer = try await ask(
            ProductsRequest(bundleID: bundleID, productIDs: [], languages: languages, itemIDs: [itemID]))
        guard var item = answer.items?.first(where: { $0.itemID == itemID }) else {
            // A song, film, episode or book belongs to no app. Its page is for a customer, who signs in first.
            var opened = visit
            if visit == nil, tokens.current == nil, case .signedIn = await signIn(as: nil, email: nil) {
                opened = try await self.visit(itemID, wanted.productIdentifier)
            }
            return opened.map { page($0, StoreItem(itemID: itemID, bundleID: "", appName: nil, product: nil)) }
        }
        if let visit, item.product == nil, wanted.productIdentifier == nil { return page(visit, item) }
        if item.product == nil, let productID = wanted.productIdentifier {
            let answer = try await ask(
                ProductsRequest(bundleID: item.bundleID, productIDs: [productID], languages: languages))
            guard let product = answer.products.first else { return nil }
            item.product = product
        }
        return page(item, itemID: itemID)
    }

    private func page(_ visit: VisitDescription, _ item: StoreItem) -> StoreProductPage {
        StoreProductPage(
            itemIdentifier: item.itemID, bundleIdentifier: item.bundleID.rawValue, appName: item.appName,
            isForSale: visit.amount != nil && !visit.isOwned,
            item: StoreProductPage.Item(
                name: visit.name, creator: visit.creator, formattedPrice: visit.price, isOwned: visit.isOwned,
                address: visit.url), visit: visit)
    }

    private func page(_ item: StoreItem, itemID: Int64?) -> StoreProductPage? {
        var product: StoreProductPage.Product?
        if let description = item.product {
            guard
                let price = Decimal(string: description.price.decimal, locale: Locale(identifier: "en_US_POSIX"))
            else { return nil }
            product = StoreProductPage.Product(
                productIdentifier: description.productID.rawValue, name: description.displayName,
                description: description.description, price: price,
                priceLocale: Locale(identifier: description.priceLocale))
        }
        return StoreProductPage(
            itemIdentifier: itemID, bundleIdentifier: item.bundleID.rawValue, appName: item.appName, product: product,
            isForSale: product != nil && item.bundleID == bundleID)
    }
}
