import StoreWire

/// Writes one app as a `.storekit` document.
struct StoreKitFileWriter {
    private let app: CatalogApp
    private let version: StoreKitFileVersion
    private let writer = CatalogWriter(dialect: .storeKit)

    init(_ app: CatalogApp) {
        self.app = app.completedForStoreKit
        version = self.app.settings.version
    }

    func document() -> JSONValue {
        let items = app.products.filter { $0.kind == .consumable || $0.kind == .nonConsumable }
        let nonRenewing = app.products.filter { $0.kind == .nonRenewingSubscription }
        let subscriptions = app.subscriptions
        var members: [String: JSONValue?] = [
            "identifier": writer.string(app.settings.identifier),
            "version": .object(["major": .number(String(version.major)), "minor": .number(String(version.minor))]),
            "products": .array(items.map { product($0) }), "settings": settings(),
            "subscriptionGroups": .array(app.groups.map { group($0, subscriptions[$0.id] ?? []) }),
        ]
        // The files of Xcode 12 have neither an identifier nor this list.
        if !nonRenewing.isEmpty || app.settings.identifier != nil {
            members["nonRenewingSubscriptions"] = .array(nonRenewing.map { product($0) })
        }
        return writer.object(members, app.unknown)
    }

    private func settings() -> JSONValue {
        let settings = app.settings
        return writer.object(
            [
                "_storefront": writer.string(settings.storefront), "_locale": writer.string(settings.locale),
                "_applicationInternalID": writer.string(settings.applicationInternalID),
            ],
            settings.unknown
        )
    }

    private func product(_ product: CatalogProduct) -> JSONValue {
        writer.object(members(of: product), product.unknown)
    }

    private func members(of product: CatalogProduct) -> [String: JSONValue?] {
        var members: [String: JSONValue?] = [
            "productID": .string(product.productID.rawValue), "type": .string(CatalogKinds.name(product.kind)),
            "referenceName": writer.string(product.referenceName) ?? .null,
            "internalID": writer.string(product.internalID),
            "familyShareable": .bool(product.isFamilyShareable),
            "localizations": writer.localizations(product.localizations),
        ]
        members.merge(writer.prices(product.prices)) { $1 }
        return members
    }

    private func group(_ group: CatalogSubscriptionGroup, _ subscriptions: [CatalogProduct]) -> JSONValue {
        writer.object(
            [
                "id": .string(group.id.rawValue), "name": .string(group.name),
                "localizations": writer.localizations(group.localizations),
                "subscriptions": .array(subscriptions.map { subscription($0) }),
            ],
            group.unknown
        )
    }

    private func subscription(_ product: CatalogProduct) -> JSONValue {
        var members = members(of: product)
        guard let subscription = product.subscription else { return writer.object(members, product.unknown) }
        members["subscriptionGroupID"] = .string(subscription.groupID.rawValue)
        members["groupNumber"] = .number(String(subscription.level))
        members["recurringSubscriptionPeriod"] = .string(subscription.period.description)
        let introductory = offers(subscription.introductoryOffers)
        if version.major >= 5 {
            members["introductoryOffers"] = .array(introductory)
        } else {
            members["introductoryOffer"] = introductory.first ?? .null
        }
        members["adHocOffers"] = .array(offers(subscription.promotionalOffers))
        members["codeOffers"] = .array(offers(subscription.codeOffers))
        if version.major >= 4 || !subscription.winBackOffers.isEmpty {
            members["winbackOffers"] = .array(offers(subscription.winBackOffers))
        }
        if !subscription.billingPlans.isEmpty {
            members["billingPlans"] = .array(subscription.billingPlans.map(writer.billingPlan))
        }
        return writer.object(members, product.unknown)
    }

    private func offers(_ offers: [CatalogOffer]) -> [JSONValue] {
        offers.map { writer.offer($0, internalID: $0.internalID) }
    }

    /// The properties of the app that the format cannot express, a line for each.
    static func omitted(_ app: CatalogApp) -> [String] {
        var lines = ["the bundle id \(app.bundleID): give it when the file is served"]
        if let name = app.name { lines.append("the app's name, \(name)") }
        for product in app.products {
            let id = product.productID
            if product.kind == .freeSubscription {
                lines.append("\(id): free subscriptions; the product is not in the file")
            }
            if !product.prices.byStorefront.isEmpty { lines.append("\(id): prices by storefront") }
            if !product.prices.byCurrency.isEmpty { lines.append("\(id): prices by currency") }
            if product.availability != .everywhere { lines.append("\(id): availability by storefront") }
            if product.isHosted { lines.append("\(id): hosted content") }
            guard let subscription = product.subscription else { continue }
            if subscription.preservesPrice { lines.append("\(id): the price that subscribers keep") }
            let offers = [
                subscription.introductoryOffers, subscription.promotionalOffers, subscription.codeOffers,
                subscription.winBackOffers,
            ].joined()
            if offers.contains(where: { $0.prices.map { !$0.byStorefront.isEmpty || !$0.byCurrency.isEmpty } ?? false })
            {
                lines.append("\(id): prices of offers by storefront or currency")
            }
            if subscription.winBackOffers.contains(where: { $0.winBack != nil }) {
                lines.append("\(id): the customers of win-back offers")
            }
        }
        return lines
    }
}
