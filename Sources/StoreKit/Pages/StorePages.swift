import Foundation
import StoreWire

/// The store pages, review requests and promotion settings of an app on this device.
struct StorePages: Sendable {
    let presenter: any StorePresenter
    let bundleIdentifier: String
    let reviews: DeviceRecord<ReviewHistory>
    let promotions: DeviceRecord<PromotionOverrides>
    let timer: any RetryTimer
    let backoff: Backoff
    private let access = SerialAccess()

    /// - Parameter folder: the app's folder on this device; nil while nothing is configured.
    init(
        presenter: any StorePresenter, bundleIdentifier: String, folder: URL?, timer: any RetryTimer, backoff: Backoff
    ) {
        self.timer = timer
        self.backoff = backoff
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
        if !page.isOfThisApp, let visit = page.visit, let item = page.itemIdentifier {
            return await show(page, of: item, visit)
        }
        let answer = await pages.show(page) { [self] in
            if let visit = page.visit { await waitForEnd(of: visit) }
        }
        guard answer == .buy, page.isForSale, let product = page.product else { return }
        payments.add(PaymentValues(productIdentifier: product.productIdentifier))
    }

    /// Loads the page that a product view controller's parameters name.
    func page(_ wanted: StoreProductParameters) async -> Result<StoreProductPage, SKError> {
        guard let session else { return .failure(PaymentFailure.unreachable.error(in: languages)) }
        var wanted = wanted
        wanted.returnAddress = pages.presenter.returnAddress
        return await session.page(wanted).mapError { $0.error(in: languages) }
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

    /// How the store answered when a page was opened.
    private enum Opening {
        case opened(VisitDescription)
        /// The storefront has no item with the number. A product can have it.
        case missing
        case signedOut
    }

    /// Opens the storefront's page of an item for the account that is signed in. It asks nobody to sign in.
    private func open(_ item: Int64, _ wanted: StoreProductParameters) async throws(StoreFailure) -> Opening {
        var request = VisitRequest(item: item, productID: wanted.productIdentifier, campaign: wanted.campaign)
        request.returnAddress = wanted.returnAddress?.absoluteString
        do throws(StoreFailure) {
            // Without a token, the store only says whether it has the item.
            guard let account = tokens.current?.account.accountID else {
                return .opened(try await client.openVisit(request, token: nil))
            }
            return .opened(
                try await asAccount(account, mayAsk: false) { token throws(StoreFailure) in
                    try await client.openVisit(request, token: token)
                })
        } catch {
            if error == .notSignedIn { return .signedOut }
            if case .refused(let refusal) = error, refusal.code == .notFound { return .missing }
            throw error
        }
    }

    fileprivate func page(_ wanted: StoreProductParameters) async -> Result<StoreProductPage, PaymentFailure> {
        do throws(StoreFailure) {
            guard let number = wanted.itemIdentifier else { return try await page(wanted.productIdentifier) }
            return try await page(number, wanted)
        } catch {
            return .failure(PaymentFailure(error))
        }
    }

    /// Loads the page of one of the app's own products.
    private func page(_ productID: ProductID?) async throws(StoreFailure) -> Result<StoreProductPage, PaymentFailure> {
        guard let productID, let product = try await products([productID]).products.first else {
            return .failure(.noPage)
        }
        return page(StoreItem(itemID: 0, bundleID: bundleID, appName: nil, product: product), number: nil)
    }

    /// Loads the page of an app, of a product, or of another item of the storefront.
    /// - Parameter mayAsk: whether the customer may be asked to sign in.
    private func page(
        _ number: Int64, _ wanted: StoreProductParameters, mayAsk: Bool = true
    ) async throws(StoreFailure) -> Result<StoreProductPage, PaymentFailure> {
        let opening = try await open(number, wanted)
        let answer = try await ask(
            ProductsRequest(bundleID: bundleID, productIDs: [], languages: languages, itemIDs: [number]))
        var item = answer.items?.first(where: { $0.itemID == number })
        if let app = item, app.product == nil, let productID = wanted.productIdentifier {
            // As with Apple's StoreKit, a product that the app does not sell is ignored.
            let answer = try await ask(
                ProductsRequest(bundleID: app.bundleID, productIDs: [productID], languages: languages))
            item?.product = answer.products.first
        }
        if case .opened(let visit) = opening {
            return page(
                item ?? StoreItem(itemID: number, bundleID: "", appName: nil, product: nil), number: number, visit)
        }
        // An item's page is for a customer, who signs in first. The app's own product is shown without, and bought
        // through the queue, which asks.
        if case .signedOut = opening, mayAsk, item?.product == nil || item?.bundleID != bundleID {
            let failure: PaymentFailure
            switch await signIn(as: nil, email: nil) {
            case .signedIn: return try await page(number, wanted, mayAsk: false)
            case .cancelled: failure = .cancelled
            case .otherAccount: failure = .otherAccount
            case .refused(let refusal): failure = refusal
            case .unreachable: throw .unreachable
            }
            if item == nil { return .failure(failure) }
        }
        // Without a customer, an app's page has its name only.
        return item.map { page($0, number: number) } ?? .failure(.noPage)
    }

    private func page(
        _ item: StoreItem, number: Int64?, _ visit: VisitDescription? = nil
    ) -> Result<StoreProductPage, PaymentFailure> {
        var product: StoreProductPage.Product?
        if let description = item.product {
            guard let price = description.price.exact else { return .failure(.unreachable) }
            product = StoreProductPage.Product(
                productIdentifier: description.productID.rawValue, name: description.displayName,
                description: description.description, price: price,
                priceLocale: Locale(identifier: description.priceLocale))
        }
        let isOfThisApp = product != nil && item.bundleID == bundleID
        return .success(
            StoreProductPage(
                itemIdentifier: number, bundleIdentifier: item.bundleID.rawValue, appName: item.appName,
                product: product,
                isForSale: isOfThisApp || visit.map { $0.amount != nil && !$0.isOwned } ?? false,
                item: visit.map {
                    StoreProductPage.Item(
                        name: $0.name, creator: $0.creator, formattedPrice: $0.price, isOwned: $0.isOwned,
                        address: $0.url, ratingCount: $0.reviews?.count ?? 0, averageRating: $0.reviews?.average,
                        reviews: $0.reviews?.newest.map(StoreProductPage.Review.init) ?? [],
                        ownReview: ($0.reviews?.own).map(StoreProductPage.Review.init))
                }, visit: visit, isOfThisApp: isOfThisApp))
    }
}

extension StoreProductPage.Review {
    init(_ review: ReviewDescription) {
        self.init(stars: review.stars, title: review.title, text: review.text)
    }
}
