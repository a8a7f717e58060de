import StoreWire

/// The fields that both catalog formats share, with their rules.
extension ObjectReader {
    /// The text shortened and made safe for a message.
    static func shown(_ text: String) -> String {
        let printable = text.unicodeScalars.prefix(60).map {
            $0.properties.generalCategory == .control ? " " : String($0)
        }
        return "\"\(printable.joined())\(text.unicodeScalars.count > 60 ? "…" : "")\""
    }

    private func requiredString(_ key: String, _ advice: String) -> String? {
        if let value = string(key) { return value }
        if member(key) == nil { missing(key, advice) }
        return nil
    }

    /// Reads a product id: 1 to 255 visible ASCII characters.
    func productID() -> ProductID? {
        guard let text = requiredString("productID", "every product needs one") else { return nil }
        guard (1...StoreLimits.identifier).contains(text.utf8.count) else {
            problem("productID", "has \(text.utf8.count) bytes; a product id has 1 to \(StoreLimits.identifier)")
            return nil
        }
        guard ProductID(text).isPlain else {
            problem(
                "productID",
                "\(Self.shown(text)) has a space or another character that product ids cannot have; "
                    + "use letters, digits, hyphens, periods and underscores")
            return nil
        }
        return ProductID(text)
    }

    /// Reads an identifier: 1 to 255 printable ASCII characters.
    func identifier(_ key: String, _ advice: String) -> String? {
        guard let text = requiredString(key, advice) else { return nil }
        guard (1...StoreLimits.identifier).contains(text.utf8.count) else {
            problem(key, "has \(text.utf8.count) bytes; an identifier has 1 to \(StoreLimits.identifier)")
            return nil
        }
        guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            problem(
                key,
                "\(Self.shown(text)) has a character that identifiers cannot have; "
                    + "use letters, digits, hyphens, periods and underscores")
            return nil
        }
        return text
    }

    /// Reads a decimal, in thousandths.
    func amount(_ key: String) -> Int64? {
        guard member(key) != nil, let text = string(key) else { return nil }
        return amount(of: text, key)
    }

    private func amount(of text: String, _ key: String) -> Int64? {
        guard let money = Money(decimal: text, currency: "USD") else {
            let largest = Money(milliunits: Money.largest, currency: "USD").decimal
            problem(
                key,
                "\(Self.shown(text)) is not a price; write a decimal such as 0.99, with at most three decimals, up to \(largest)"
            )
            return nil
        }
        return money.milliunits
    }

    /// Reads `displayPrice` and, in our own format, `prices` and `pricesByCurrency`. Nil when `displayPrice` is missing
    /// or invalid.
    func prices() -> CatalogPrices? {
        let amount = amount("displayPrice")
        guard reading.dialect == .cornerstore else {
            return amount.map { CatalogPrices(amount: $0, byStorefront: [:], byCurrency: [:]) }
        }
        let byStorefront = amounts("prices") { Storefront.named($0) != nil }
        let byCurrency = amounts("pricesByCurrency", where: Storefront.currencies.contains)
        if amount == nil, member("displayPrice") == nil, !byStorefront.isEmpty || !byCurrency.isEmpty {
            missing("displayPrice", "it is the price in the storefronts that are not named")
        }
        return amount.map { CatalogPrices(amount: $0, byStorefront: byStorefront, byCurrency: byCurrency) }
    }

    private func amounts(_ key: String, where isKnown: (String) -> Bool) -> [String: Int64] {
        var amounts: [String: Int64] = [:]
        for entry in entries(key) {
            let path = "\(path(key)).\(entry.key.prefix(40))"
            guard isKnown(entry.key) else {
                let advice =
                    key == "prices"
                    ? "a storefront's country code, such as USA" : "a currency of the App Store, such as EUR"
                reading.problem(entry.value, path, "\(Self.shown(entry.key)) is not \(advice)")
                continue
            }
            switch entry.value.content {
            case .number(let text), .string(let text):
                amounts[entry.key] = Money(decimal: text, currency: "USD")?.milliunits
            default: break
            }
            if amounts[entry.key] == nil {
                reading.problem(entry.value, path, "is not a price; write a decimal such as 0.99")
            }
        }
        return amounts
    }

    func availability() -> CatalogAvailability {
        guard let reader = object("availability", kind: "availability") else { return .everywhere }
        let (only, except) = (reader.countries("only"), reader.countries("except"))
        reader.refuseUnread()
        switch (only, except) {
        case (let only?, nil): return .only(only)
        case (nil, let except?): return .except(except)
        case (nil, nil): return .everywhere
        default:
            problem("availability", "has both only and except; keep one")
            return .everywhere
        }
    }

    private func countries(_ key: String) -> Set<String>? {
        guard let codes = strings(key) else { return nil }
        for code in codes where Storefront.named(code) == nil {
            problem(key, "\(Self.shown(code)) is not a storefront's country code, such as USA")
        }
        return Set(codes)
    }

    /// Reads a period in ISO 8601. With `advice` nil, a missing key is not a problem.
    func period(_ key: String, _ advice: String?) -> SubscriptionPeriod? {
        guard let text = string(key) else {
            if member(key) == nil, let advice { missing(key, advice) }
            return nil
        }
        guard let period = SubscriptionPeriod(iso8601: text) else {
            problem(key, "\(Self.shown(text)) is not a period; write one such as P1W, P1M, P3M or P1Y")
            return nil
        }
        return period
    }

    /// Reads a locale identifier: a language and subtags, with hyphens or underscores.
    func locale(_ key: String) -> String? {
        guard let text = string(key) else { return nil }
        guard LanguageTag(text) != nil else {
            problem(key, "\(Self.shown(text)) is not a locale; write one such as en_US or zh_Hans")
            return nil
        }
        return text
    }

    /// Reads the country code of a storefront.
    func storefront(_ key: String) -> String? {
        guard let text = string(key) else { return nil }
        guard Storefront.named(text) != nil else {
            problem(
                key,
                "\(Self.shown(text)) is not a storefront; write an alpha-3 country code of the App Store, such as USA"
            )
            return nil
        }
        return text
    }

    func kind(_ kinds: [String: ProductKind]) -> ProductKind? {
        guard let text = requiredString("type", "it is one of \(kinds.keys.sorted().joined(separator: ", "))") else {
            return nil
        }
        guard let kind = kinds[text] else {
            problem(
                "type",
                "\(Self.shown(text)) is not a valid type; it is one of \(kinds.keys.sorted().joined(separator: ", "))")
            return nil
        }
        return kind
    }

    func paymentMode() -> OfferDescription.PaymentMode? {
        let names = OfferDescription.PaymentMode.allCases.map(\.rawValue).joined(separator: ", ")
        guard let text = requiredString("paymentMode", "it is one of \(names)") else { return nil }
        guard let mode = OfferDescription.PaymentMode(rawValue: text) else {
            problem("paymentMode", "\(Self.shown(text)) is not a payment mode; it is one of \(names)")
            return nil
        }
        return mode
    }

    /// Reads `localizations`. Each locale can appear once.
    func localizations(requiresName: Bool) -> [CatalogLocalization] {
        var locales: Set<String> = []
        return objects("localizations", kind: "localization").compactMap { reader in
            let displayName = reader.string("displayName")
            if displayName == nil, requiresName, reader.member("displayName") == nil {
                reader.missing("displayName", "it is the name that customers see")
            }
            let description = reader.string("description")
            let locale = reader.locale("locale")
            if locale == nil, reader.member("locale") == nil { reader.missing("locale", "write one such as en_US") }
            let unknown = reader.unknown()
            guard let locale else { return nil }
            if !locales.insert(locale).inserted {
                reader.problem("locale", "\(locale) appears twice; keep one localization of it")
            }
            return CatalogLocalization(
                locale: locale, displayName: displayName ?? "", description: description, unknown: unknown)
        }
    }
}
