import ControlWire
import Store
import StoreWire

extension ControlAPI.CatalogProblem {
    init(_ problem: CatalogProblem) {
        self.init(
            file: problem.file, line: problem.line, column: problem.column, keyPath: problem.keyPath,
            message: problem.message)
    }
}

extension ControlAPI.CatalogApp {
    init(_ app: CatalogApp, appID: Int64?, file: String?, products: [ControlAPI.CatalogProduct]) {
        self.init(
            bundleId: app.bundleID.rawValue, name: app.name, appId: appID, storefront: app.storefront.countryCode,
            file: file,
            groups: app.groups.map { group in
                ControlAPI.CatalogGroup(
                    id: group.id.rawValue, name: group.name, texts: group.localizations.map(ControlAPI.CatalogText.init)
                )
            }, products: products)
    }
}

extension ControlAPI.CatalogText {
    init(_ text: CatalogLocalization) {
        self.init(locale: text.locale, displayName: text.displayName, description: text.description)
    }
}

extension ControlAPI.CatalogPrice {
    init(_ price: Money, _ storefront: Storefront) {
        self.init(storefront: storefront.countryCode, price: price.decimal, currency: price.currency)
    }
}

extension ControlAPI.CatalogProduct {
    /// - Parameter storefronts: the storefronts whose prices are listed.
    init(_ product: CatalogProduct, in storefronts: [Storefront], line: Int?) {
        let selling = storefronts.filter { product.availability.includes($0) }
        self.init(
            productId: product.productID.rawValue, kind: product.kind.rawValue, referenceName: product.referenceName,
            itemId: product.itemID,
            prices: selling.map { ControlAPI.CatalogPrice(product.prices.price(in: $0), $0) },
            familyShareable: product.isFamilyShareable, hosted: product.isHosted,
            texts: product.localizations.map(ControlAPI.CatalogText.init),
            subscription: product.subscription.map { ControlAPI.CatalogSubscription($0, in: selling) }, line: line)
    }
}

extension ControlAPI.CatalogSubscription {
    init(_ subscription: CatalogSubscription, in storefronts: [Storefront]) {
        let kinds: [(String, [CatalogOffer])] = [
            ("introductory", subscription.introductoryOffers), ("promotional", subscription.promotionalOffers),
            ("code", subscription.codeOffers), ("winBack", subscription.winBackOffers),
        ]
        self.init(
            groupId: subscription.groupID.rawValue, level: subscription.level, period: subscription.period.description,
            offers: kinds.flatMap { kind, offers in
                offers.map { ControlAPI.CatalogOffer($0, kind: kind, in: storefronts) }
            })
    }
}

extension ControlAPI.CatalogOffer {
    init(_ offer: CatalogOffer, kind: String, in storefronts: [Storefront]) {
        self.init(
            kind: kind, offerId: offer.offerID, referenceName: offer.referenceName,
            paymentMode: offer.paymentMode.rawValue, period: offer.period.description,
            numberOfPeriods: offer.numberOfPeriods ?? 1,
            prices: offer.paymentMode == .free
                ? [] : storefronts.map { ControlAPI.CatalogPrice(offer.description(in: $0).price, $0) })
    }
}
