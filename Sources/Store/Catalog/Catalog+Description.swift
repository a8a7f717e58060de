import StoreWire

extension CatalogApp {
    /// Describes a product for devices; nil when the storefront does not sell it.
    ///
    /// The texts are in the first of `languages` that has a localization, else in the file's locale, the storefront's
    /// language, English, or the first localization of the file. A product without localizations has its reference name
    /// or product id as its name. `languages` are BCP 47 or POSIX names, best first.
    public func description(
        of product: CatalogProduct, languages: [String], storefront: Storefront
    ) -> ProductDescription? {
        guard let price = product.price(in: storefront) else { return nil }
        let wanted = preferences(languages, storefront)
        let texts = Self.best(product.localizations, for: wanted)
        return ProductDescription(
            productID: product.productID, kind: product.kind,
            displayName: texts?.displayName ?? product.referenceName ?? product.productID.rawValue,
            description: texts?.description ?? "", price: price,
            priceLocale: Self.priceLocale(languages: languages, storefront: storefront),
            isFamilyShareable: product.isFamilyShareable,
            subscription: product.subscription.map { description(of: $0, wanted: wanted, storefront: storefront) }
        )
    }

    private func description(
        of subscription: CatalogSubscription, wanted: [LanguageTag], storefront: Storefront
    ) -> SubscriptionDescription {
        SubscriptionDescription(
            groupID: subscription.groupID, groupName: name(of: subscription.groupID, wanted: wanted),
            groupLevel: subscription.level, period: subscription.period,
            introductoryOffer: subscription.introductoryOffers.first?.description(in: storefront),
            promotionalOffers: subscription.promotionalOffers.map { $0.description(in: storefront) }
        )
    }

    private func name(of groupID: SubscriptionGroupID, wanted: [LanguageTag]) -> String {
        let group = group(groupID)
        let texts = group.flatMap { Self.best($0.localizations, for: wanted) }
        let localName = texts.flatMap { $0.displayName.isEmpty ? nil : $0.displayName }
        return localName ?? group?.name ?? groupID.rawValue
    }

    /// The name of a subscription group that a reader in a storefront sees; its identifier when the app has no such
    /// group.
    public func name(of groupID: SubscriptionGroupID, in storefront: Storefront) -> String {
        name(of: groupID, wanted: preferences([], storefront))
    }

    /// The name of a product that a reader in a storefront sees; its identifier when the app has no such product.
    public func name(of productID: ProductID, in storefront: Storefront) -> String {
        guard let product = product(productID) else { return productID.rawValue }
        return words(for: product, in: storefront)?.displayName ?? product.referenceName ?? productID.rawValue
    }

    /// The languages to try, best first. Uses at most ten of the device's languages.
    private func preferences(_ languages: [String], _ storefront: Storefront) -> [LanguageTag] {
        (languages.prefix(10) + [settings.locale ?? "", storefront.language, "en"]).compactMap { LanguageTag($0) }
    }

    private static func best(_ localizations: [CatalogLocalization], for wanted: [LanguageTag]) -> CatalogLocalization?
    {
        for tag in wanted {
            var best: (CatalogLocalization, Int)?
            for localization in localizations {
                guard let rank = LanguageTag(localization.locale)?.suitability(for: tag), rank > best?.1 ?? 0 else {
                    continue
                }
                best = (localization, rank)
            }
            if let best { return best.0 }
        }
        return localizations.first
    }

    /// The name and description of a product that a reader in a storefront sees.
    public func words(for product: CatalogProduct, in storefront: Storefront) -> CatalogLocalization? {
        Self.best(product.localizations, for: preferences([], storefront))
    }

    /// The locale that formats prices of the storefront in the device's first language:
    /// `en_US@currency=USD`, `zh_Hans_CN@currency=CNY`.
    ///
    /// - Parameter currency: the price's currency; nil for the storefront's.
    static func priceLocale(languages: [String], storefront: Storefront, currency: String? = nil) -> String {
        let tag = languages.prefix(10).lazy.compactMap { LanguageTag($0) }.first
        var language = storefront.language
        if let tag { language = tag.script.map { "\(tag.language)_\($0)" } ?? tag.language }
        return "\(language)_\(storefront.regionCode)@currency=\(currency ?? storefront.currency)"
    }
}
