import StoreWire

/// Reads the products and subscription groups of one app. Both file formats use the same keys for them.
struct CatalogReader {
    let reading: CatalogReading

    private var isCornerstore: Bool { reading.dialect == .cornerstore }

    /// The product types that `products` can contain.
    private var itemKinds: [String: ProductKind] {
        var kinds = CatalogKinds.items
        if isCornerstore { kinds["FreeSubscription"] = .freeSubscription }
        return kinds
    }

    /// Reads `products`, `nonRenewingSubscriptions` and `subscriptionGroups` of an app.
    func contents(of app: ObjectReader) -> (products: [CatalogProduct], groups: [CatalogSubscriptionGroup]) {
        var readers = app.objects("products", kind: "product", limit: CatalogLimits.products)
        if !isCornerstore {
            readers += app.objects("nonRenewingSubscriptions", kind: "product", limit: CatalogLimits.products)
        }
        var seen = SeenProducts()
        var products = readers.compactMap { item($0, &seen) }
        var groups: [CatalogSubscriptionGroup] = []
        for reader in app.objects("subscriptionGroups", kind: "subscriptionGroup") {
            guard let (group, subscriptions) = group(reader, &seen) else { continue }
            if groups.contains(where: { $0.id == group.id }) {
                reader.problem("id", "\(group.id) is the id of an earlier group; give each group its own")
            }
            groups.append(group)
            products += subscriptions
        }
        if products.count > CatalogLimits.products {
            reading.tooLarge(app.node, app.path, "has more than \(CatalogLimits.products) products")
        }
        if products.isEmpty { reading.note(app.node, app.path, "describes no product; nothing can be bought") }
        return (products, groups)
    }

    /// The line on which each product id appeared first.
    private struct SeenProducts {
        var lines: [ProductID: Int] = [:]

        mutating func check(_ productID: ProductID?, _ reader: ObjectReader) {
            guard let productID else { return }
            if let line = lines[productID] {
                reader.problem(
                    "productID",
                    "\(productID) is already the id of the product on line \(line); each product needs its own")
            } else {
                lines[productID] = reader.node.line
            }
        }
    }

    private func item(_ reader: ObjectReader, _ seen: inout SeenProducts) -> CatalogProduct? {
        let kind = reader.kind(itemKinds)
        let product = product(reader, kind: kind, subscription: nil)
        seen.check(product?.productID, reader)
        return product
    }

    /// Reads the keys that all product types share. Reads every key before it gives up, so that all problems are
    /// reported.
    private func product(_ reader: ObjectReader, kind: ProductKind?, subscription: CatalogSubscription?)
        -> CatalogProduct?
    {
        let productID = reader.productID()
        let referenceName = reader.string("referenceName")
        let internalID = reader.string("internalID")
        var prices = reader.prices()
        if kind == .freeSubscription {
            if let given = prices, given != .free {
                reader.problem("displayPrice", "a free subscription has no price; remove it")
            }
            prices = .free
        } else if prices == nil, reader.member("displayPrice") == nil {
            reader.missing("displayPrice", "write a decimal such as 0.99")
        }
        let familyShareable = reader.bool("familyShareable")
        let localizations = reader.localizations(requiresName: true)
        let availability = isCornerstore ? reader.availability() : .everywhere
        let hosted = isCornerstore ? reader.bool("hosted") : nil
        if hosted == true, let kind, kind != .nonConsumable {
            reader.problem("hosted", "only a non-consumable can have hosted content")
        }
        let unknown = reader.unknown()
        guard let productID, let kind, let prices else { return nil }
        return CatalogProduct(
            productID: productID, kind: kind, referenceName: referenceName, internalID: internalID, prices: prices,
            availability: availability, isFamilyShareable: familyShareable ?? false, isHosted: hosted ?? false,
            localizations: localizations, subscription: subscription, unknown: unknown
        )
    }

    private func group(
        _ reader: ObjectReader, _ seen: inout SeenProducts
    ) -> (CatalogSubscriptionGroup, [CatalogProduct])? {
        let id = reader.identifier("id", "every subscription group needs one").map { SubscriptionGroupID($0) }
        let name = reader.string("name")
        let localizations = reader.localizations(requiresName: false)
        let readers = reader.objects("subscriptions", kind: "subscription", limit: CatalogLimits.products)
        var subscriptions: [CatalogProduct] = []
        for subscription in readers {
            let product = self.subscription(subscription, of: id)
            seen.check(product?.productID, subscription)
            if let product { subscriptions.append(product) }
        }
        let unknown = reader.unknown()
        guard let id else { return nil }
        let group = CatalogSubscriptionGroup(
            id: id, name: name ?? id.rawValue, localizations: localizations, unknown: unknown)
        return (group, subscriptions)
    }

    private func subscription(_ reader: ObjectReader, of groupID: SubscriptionGroupID?) -> CatalogProduct? {
        if !isCornerstore {
            _ = reader.kind(CatalogKinds.subscriptions)
            if let named = reader.string("subscriptionGroupID"), let groupID, SubscriptionGroupID(named) != groupID {
                reader.problem(
                    "subscriptionGroupID", "is not \(groupID), the id of the group that contains the subscription")
            }
        }
        let level = reader.int("groupNumber", in: 1...1_000)
        let period = reader.period("recurringSubscriptionPeriod", "write one such as P1M")
        var introductory = reader.objects("introductoryOffers", kind: "offer").compactMap(offer)
        // For its earlier versions, Xcode writes the same offer under both keys.
        if !isCornerstore, let single = reader.object("introductoryOffer", kind: "offer").flatMap(offer),
            !introductory.contains(where: { $0.isSame(as: single) })
        {
            introductory.insert(single, at: 0)
        }
        let promotional = reader.objects("adHocOffers", kind: "offer").compactMap { reader -> CatalogOffer? in
            let offer = offer(reader)
            if let offer, offer.offerID == nil { reader.missing("offerID", "apps ask for a promotional offer by it") }
            return offer
        }
        var subscription = CatalogSubscription(
            groupID: groupID ?? "", level: level ?? 1, period: period ?? SubscriptionPeriod(unit: .month, count: 1),
            introductoryOffers: introductory, promotionalOffers: promotional,
            codeOffers: codeOffers(reader),
            winBackOffers: reader.objects("winbackOffers", kind: "winBackOffer").compactMap(winBackOffer),
            billingPlans: reader.objects("billingPlans", kind: "billingPlan").compactMap(billingPlan)
        )
        if isCornerstore { subscription.preservesPrice = reader.bool("preserveCurrentPrice") ?? false }
        return product(reader, kind: .autoRenewableSubscription, subscription: subscription)
    }

    /// Reads the offers with codes. Only our own format has mistakes: Xcode's files are kept as they are.
    private func codeOffers(_ reader: ObjectReader) -> [CatalogOffer] {
        reader.objects("codeOffers", kind: "codeOffer").compactMap { reader -> CatalogOffer? in
            let renews = reader.bool("autoRenewEnabled")
            guard var offer = offer(reader) else { return nil }
            offer.renews = renews
            guard isCornerstore else {
                if offer.paymentMode != .free, let renews {
                    (offer.renews, offer.unknown["autoRenewEnabled"]) = (nil, .bool(renews))
                }
                return offer
            }
            if renews == false, offer.paymentMode != .free {
                reader.problem(
                    "autoRenewEnabled",
                    "only a free offer can end the subscription; remove it, or make the offer free")
            }
            for name in offer.eligibility ?? [] where OfferCustomer.Standing(rawValue: name.lowercased()) == nil {
                let all = OfferCustomer.Standing.allCases.map(\.rawValue).joined(separator: ", ")
                reader.problem("eligibility", "\(ObjectReader.shown(name)) is not a kind of customer; use \(all)")
            }
            return offer
        }
    }

    private func winBackOffer(_ reader: ObjectReader) -> CatalogOffer? {
        let criteria = isCornerstore ? winBackCriteria(reader) : nil
        guard var offer = offer(reader) else { return nil }
        offer.winBack = criteria
        return offer
    }

    private func winBackCriteria(_ reader: ObjectReader) -> WinBackCriteria? {
        guard let object = reader.object("customers", kind: "customers") else { return nil }
        let months = 1...1_000
        let criteria = WinBackCriteria(
            paidMonths: object.int("paidMonths", in: months), lapsedMonths: object.int("lapsedMonths", in: months),
            mostLapsedMonths: object.int("mostLapsedMonths", in: months),
            waitMonths: object.int("waitMonths", in: months), isPreferred: object.bool("isPreferred") ?? false)
        object.refuseUnread()
        if let least = criteria.lapsedMonths, let most = criteria.mostLapsedMonths, least >= most {
            object.problem("mostLapsedMonths", "must be above lapsedMonths, which is \(least)")
        }
        return criteria
    }

    private func offer(_ reader: ObjectReader) -> CatalogOffer? {
        let paymentMode = reader.paymentMode()
        var prices = reader.prices()
        if let paymentMode, paymentMode != .free, prices == nil, reader.member("displayPrice") == nil {
            reader.missing("displayPrice", "an offer that is not free needs a price")
        }
        var unusedPrice: String?
        if paymentMode == .free, let given = prices, given != .free {
            let message = "a free offer has no price; remove it, or correct paymentMode"
            if isCornerstore {
                reader.problem("displayPrice", message)
            } else {
                reader.note("displayPrice", message)
                (unusedPrice, prices) = (reader.string("displayPrice"), nil)
            }
        }
        let period = reader.period("subscriptionPeriod", "write one such as P1W")
        var offer = CatalogOffer(
            offerID: reader.string("offerID"), referenceName: reader.string("referenceName"),
            internalID: reader.string("internalID"), paymentMode: paymentMode ?? .free, prices: prices,
            period: period ?? SubscriptionPeriod(unit: .month, count: 1),
            numberOfPeriods: reader.int("numberOfPeriods", in: 1...1_000), eligibility: reader.strings("eligibility"),
            isStackable: reader.bool("isStackable"), billingPlanType: reader.string("billingPlanType"),
            unknown: reader.unknown()
        )
        if let unusedPrice { offer.unknown["displayPrice"] = .string(unusedPrice) }
        return paymentMode == nil || period == nil ? nil : offer
    }

    private func billingPlan(_ reader: ObjectReader) -> CatalogBillingPlan? {
        let type = reader.identifier("billingPlanType", "it is BILLED_UPFRONT or MONTHLY")
        let plan = CatalogBillingPlan(
            type: type ?? "", amount: reader.amount("displayPrice"),
            commitmentAmount: reader.amount("commitmentDisplayPrice"),
            internalID: reader.string("internalID"), isEnabled: reader.bool("isEnabled"), unknown: reader.unknown()
        )
        return type == nil ? nil : plan
    }
}

extension CatalogPrices {
    static let free = CatalogPrices(amount: 0, byStorefront: [:], byCurrency: [:])
}

/// The values of `type`.
enum CatalogKinds {
    static let items: [String: ProductKind] = [
        "Consumable": .consumable, "NonConsumable": .nonConsumable, "NonRenewingSubscription": .nonRenewingSubscription,
    ]
    static let subscriptions: [String: ProductKind] = ["RecurringSubscription": .autoRenewableSubscription]

    static func name(_ kind: ProductKind) -> String {
        switch kind {
        case .consumable: "Consumable"
        case .nonConsumable: "NonConsumable"
        case .nonRenewingSubscription: "NonRenewingSubscription"
        case .autoRenewableSubscription: "RecurringSubscription"
        case .freeSubscription: "FreeSubscription"
        }
    }
}
