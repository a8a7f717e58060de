import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The route that shows products as devices get them.
extension ControlController {
    func addPreviewRoutes(to router: Router<StoreRequestContext>) {
        on(router, .preview(.sandbox, PreviewQuery(bundle: "")), preview)
    }

    @Sendable private func preview(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        guard let bundleID = request.query(.bundle).map({ BundleID($0) }) else {
            throw StoreError(.invalidRequest, "The query must contain “bundle”.")
        }
        guard let app = catalog.value.app(bundleID) else {
            throw StoreError(.unknownApp, "The store has no app with this bundle identifier.")
        }
        let account = try await existing(request.query(.account), at: store)
        let storefront = try Self.storefront(request.query(.storefront) ?? account?.storefront, otherwise: app)
        let (productIDs, next) = try Self.identifiers(request, of: app)
        let asked = ProductsRequest(
            bundleID: bundleID, productIDs: productIDs,
            languages: request.query(.language)?.split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            } ?? [])
        let answer = try await store.products(asked, in: storefront)
        var customer: PreviewedCustomer?
        if let account {
            customer = PreviewedCustomer(
                owned: Set(try await store.customerState(asked, for: account).ownedProductIDs),
                groups: try await store.groupsWithoutIntroduction(of: account, in: bundleID))
        }
        let invalid = answer.invalidProductIDs.compactMap { productID in
            // The catalog may have changed meanwhile, so that there is no obstacle any more.
            store.obstacle(to: productID, of: bundleID, in: storefront, managed: managed).map {
                ControlAPI.InvalidProduct(
                    productId: productID.rawValue, reason: $0.name, message: $0.sentence(storefront.countryCode))
            }
        }
        return try .json(
            ControlAPI.Preview(
                bundleId: bundleID.rawValue, name: app.name, appId: apps[bundleID]?.appID,
                storefront: storefront.countryCode, storefrontId: storefront.identifier, account: account?.email,
                paymentsAllowed: account?.paymentsAllowed,
                products: answer.products.map { ControlAPI.PreviewProduct($0, for: customer) }, invalid: invalid,
                next: next))
    }

    private static func storefront(_ code: String?, otherwise app: CatalogApp) throws -> Storefront {
        guard let code else { return app.storefront }
        guard let storefront = Storefront.named(code.uppercased()) else {
            throw StoreError(.invalidRequest, "“storefront” must be a country code of three letters, such as USA.")
        }
        return storefront
    }

    /// The identifiers that the app asks for: the one in the query, or those of the catalog.
    private static func identifiers(
        _ request: Request, of app: CatalogApp
    ) throws -> (productIDs: [ProductID], next: String?) {
        if let productID = request.query(.product) {
            guard (1...StoreLimits.identifier).contains(productID.utf8.count) else {
                throw StoreError(.invalidRequest, "“product” can have at most \(StoreLimits.identifier) bytes.")
            }
            return ([ProductID(productID)], nil)
        }
        let limit = try request.limit(most: 200, usual: 50)
        var start = 0
        if let after = request.query(.after).map({ ProductID($0) }) {
            guard let index = app.products.firstIndex(where: { $0.productID == after }) else {
                throw StoreError(.invalidRequest, "“after” must be the identifier of a product of the app.")
            }
            start = index + 1
        }
        let shown = app.products[start...].prefix(limit).map(\.productID)
        let isLast = start + shown.count == app.products.count
        return (shown, isLast ? nil : shown.last?.rawValue)
    }
}

/// The parts of a customer's history that decide about prices.
private struct PreviewedCustomer {
    /// The products that the customer owns for good.
    var owned: Set<ProductID>
    /// The groups in which the customer has, or had, a subscription.
    var groups: Set<SubscriptionGroupID>
}

extension ControlAPI.PreviewPrice {
    /// - Parameter locale: the locale in which an app writes the price, such as `en_US@currency=USD`.
    init(_ price: Money, locale: String) {
        self.init(
            price: price.decimal, currency: price.currency,
            text: (Decimal(price.milliunits) / 1000).formatted(
                .currency(code: price.currency).locale(Locale(identifier: locale))))
    }
}

extension ControlAPI.PreviewProduct {
    fileprivate init(_ product: ProductDescription, for customer: PreviewedCustomer?) {
        let locale = product.priceLocale
        let subscription = product.subscription.map { subscription in
            let offers =
                [subscription.introductoryOffer].compactMap { $0 }.map {
                    ControlAPI.PreviewOffer($0, kind: "introductory", locale: locale)
                }
                + subscription.promotionalOffers.map {
                    ControlAPI.PreviewOffer($0, kind: "promotional", locale: locale)
                }
            return ControlAPI.PreviewSubscription(
                groupId: subscription.groupID.rawValue, groupName: subscription.groupName,
                level: subscription.groupLevel, period: subscription.period.description, offers: offers,
                isNewSubscriber: customer.map { !$0.groups.contains(subscription.groupID) })
        }
        self.init(
            productId: product.productID.rawValue, kind: product.kind.rawValue, displayName: product.displayName,
            description: product.description, price: ControlAPI.PreviewPrice(product.price, locale: locale),
            priceLocale: locale, familyShareable: product.isFamilyShareable,
            contentVersion: product.content?.version, contentLength: product.content?.lengths.first,
            subscription: subscription, owned: customer.map { $0.owned.contains(product.productID) })
    }
}

extension ControlAPI.PreviewOffer {
    fileprivate init(_ offer: OfferDescription, kind: String, locale: String) {
        self.init(
            kind: kind, offerId: offer.offerID, paymentMode: offer.paymentMode.rawValue,
            period: offer.period.description, numberOfPeriods: offer.numberOfPeriods,
            price: ControlAPI.PreviewPrice(offer.price, locale: locale))
    }
}

extension SaleObstacle {
    /// The reason's name on the control port.
    fileprivate var name: String {
        switch self {
        case .unknown: "unknown"
        case .storefront: "storefront"
        case .inAppPurchaseOff: "in_app_purchase_off"
        case .checklist: "checklist"
        case .removed: "removed"
        case .incomplete: "incomplete"
        case .notApproved: "not_approved"
        }
    }

    /// The reason, and what to do.
    fileprivate func sentence(_ country: String) -> String {
        switch self {
        case .unknown(let similar?):
            "The app has no product with this identifier. It has \(similar.rawValue), written differently."
        case .unknown(nil): "The app has no product with this identifier."
        case .storefront: "The product is not available in the storefront \(country). Change its availability."
        case .inAppPurchaseOff: "In-app purchase is off for the app. Turn it on."
        case .checklist(let names):
            "The checklist is not complete. Missing: \(names.map(\.rawValue).joined(separator: ", "))."
        case .removed: "The developer removed the product from sale. Put it on sale again."
        case .incomplete(let needs):
            needs.isEmpty
                ? "The product is not Ready to Submit."
                : "The product is not Ready to Submit. It needs \(needs.joined(separator: ", "))."
        case .notApproved(let state):
            "No version of the product was approved; it is in “\(state.name)”. Production sells only approved products."
        }
    }
}
