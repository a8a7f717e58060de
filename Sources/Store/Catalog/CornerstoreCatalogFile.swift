import StoreWire

/// Our own catalog format: YAML, with several apps and with features that a `.storekit` file lacks. It uses the keys of
/// the `.storekit` file where they exist. `Documentation/catalog.schema.json` describes it.
public enum CornerstoreCatalogFile {
    /// The version of the format.
    public static let version = 1

    /// Reads a catalog. `file` is the file's path, for messages and for the files that items name.
    ///
    /// - Throws: ``CatalogError`` with all problems that were found.
    public static func read(_ bytes: [UInt8], file: String) throws(CatalogError) -> CatalogContents {
        try read(bytes, file: file) { _ in }
    }

    /// Like ``read(_:file:)``; `inspect` receives the keys that were read.
    static func read(
        _ bytes: [UInt8], file: String, inspect: (CatalogReading) -> Void
    ) throws(CatalogError) -> CatalogContents {
        try read(bytes, file, inspect) { CatalogItemReader(files: ItemFiles(besideFileAt: file)).items(of: $0) }
    }

    /// Reads the apps of a text that someone sent. Its items are not read, because they name files beside the catalog.
    ///
    /// - Throws: ``CatalogError`` with all problems that were found.
    static func readApps(
        _ bytes: [UInt8], file: String
    ) throws(CatalogError) -> (apps: [CatalogApp], hasItems: Bool) {
        var hasItems = false
        let contents = try read(
            bytes, file, { _ in },
            items: { reader in
                hasItems = reader.member("items") != nil
                return []
            })
        return (contents.apps, hasItems)
    }

    private static func read(
        _ bytes: [UInt8], _ file: String, _ inspect: (CatalogReading) -> Void,
        items: (ObjectReader) -> [CatalogItem]
    ) throws(CatalogError) -> CatalogContents {
        try StoreKitConfigurationFile.checkSize(bytes, CatalogLimits.yamlFile, file)
        let root = try YAMLParser.parse(bytes, file: file)
        let reading = CatalogReading(file: file, dialect: .cornerstore)
        var contents = CatalogContents(apps: [], notes: [])
        readContents(root, reading, items, &contents)
        inspect(reading)
        try reading.finish()
        contents.notes = reading.notes.map(\.description)
        return contents
    }

    private static func readContents(
        _ root: SourceNode, _ reading: CatalogReading, _ readItems: (ObjectReader) -> [CatalogItem],
        _ contents: inout CatalogContents
    ) {
        guard let reader = ObjectReader(root, "", kind: "catalog", reading) else { return }
        guard reader.member("cornerstore-catalog") != nil else {
            reader.missing("cornerstore-catalog", "a catalog begins with cornerstore-catalog: \(version)")
            return
        }
        guard reader.int("cornerstore-catalog", in: 0...1_000_000) == version else {
            reader.problem("cornerstore-catalog", "only version \(version) of the format is supported")
            return
        }
        if reader.member("apps") == nil, reader.member("items") == nil {
            reader.missing("apps", "it is the list of apps")
        }
        let apps = reader.objects("apps", kind: "app", limit: CatalogLimits.apps).compactMap { app($0, reading) }
        let items = readItems(reader)
        reader.refuseUnread()
        var seen: Set<BundleID> = []
        for app in apps where !seen.insert(app.bundleID).inserted {
            reader.problem("apps", "the app \(app.bundleID) is described twice; keep one")
        }
        contents = CatalogContents(apps: apps, items: items, notes: [])
    }

    private static func app(_ reader: ObjectReader, _ reading: CatalogReading) -> CatalogApp? {
        let bundleID = reader.identifier("bundleID", "every app needs one, such as com.example.app")
        if let bundleID, !BundleIDOrigin.isBundleID(bundleID) {
            reader.problem("bundleID", "is not a bundle id; write it as com.example.app")
        }
        let name = reader.string("name")
        let (products, groups) = CatalogReader(reading: reading).contents(of: reader)
        let settings = CatalogSettings(
            identifier: reader.string("identifier"), version: version(reader),
            storefront: reader.storefront("storefront"),
            locale: reader.locale("locale"), applicationInternalID: reader.string("applicationInternalID"),
            unknown: Dictionary(
                reader.entries("xcodeSettings").map { ($0.key, $0.value.value) }, uniquingKeysWith: { $1 })
        )
        let unknown = reader.unknown()
        guard let bundleID else { return nil }
        return CatalogApp(
            bundleID: BundleID(bundleID), name: name, products: products, groups: groups, settings: settings,
            unknown: unknown
        )
    }

    /// Reads `storekitVersion`, such as `4.0`.
    private static func version(_ reader: ObjectReader) -> StoreKitFileVersion {
        guard let text = reader.string("storekitVersion") else { return .usual }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let major = Int(parts[0]), let minor = Int(parts[1]), StoreKitFileVersion.majors.contains(major),
            StoreKitFileVersion.minors.contains(minor)
        else {
            reader.problem("storekitVersion", "is not the version of a .storekit file; write one from 1.0 to 5.0")
            return .usual
        }
        return StoreKitFileVersion(major: major, minor: minor)
    }

    /// Writes apps in this format. Reading the text returns equal apps.
    public static func text(of apps: [CatalogApp]) -> String {
        let document: JSONValue = .object([
            "cornerstore-catalog": .number(String(version)),
            "apps": .array(apps.map { CornerstoreAppWriter(app: $0).value }),
        ])
        return YAMLText.text(of: document, order: order)
    }

    /// The keys in the order in which they are written.
    static let order = [
        "cornerstore-catalog", "apps", "bundleID", "productID", "id", "offerID", "type", "locale", "name",
        "referenceName",
        "displayName", "description", "billingPlanType", "paymentMode", "displayPrice", "commitmentDisplayPrice",
        "prices",
        "pricesByCurrency", "availability", "only", "except", "groupNumber", "recurringSubscriptionPeriod",
        "subscriptionPeriod", "numberOfPeriods", "hosted", "familyShareable", "preserveCurrentPrice",
        "eligibility", "isStackable",
        "autoRenewEnabled", "customers", "paidMonths", "lapsedMonths", "mostLapsedMonths", "waitMonths", "isPreferred",
        "isEnabled",
        "localizations", "introductoryOffers", "adHocOffers", "codeOffers", "winbackOffers", "billingPlans",
        "internalID",
        "storefront", "identifier", "storekitVersion", "applicationInternalID", "products", "subscriptionGroups",
        "subscriptions",
        "xcodeSettings", "xcode",
    ]
}

/// Writes one app in our own format, without default values.
struct CornerstoreAppWriter {
    let app: CatalogApp
    private let writer = CatalogWriter(dialect: .cornerstore)

    init(app: CatalogApp) { self.app = app }

    var value: JSONValue {
        let settings = app.settings
        let version = settings.version == .usual ? nil : "\(settings.version.major).\(settings.version.minor)"
        let items = app.products.filter { $0.subscription == nil }
        let subscriptions = app.subscriptions
        return writer.object(
            [
                "bundleID": .string(app.bundleID.rawValue), "name": writer.string(app.name),
                "storefront": writer.string(settings.storefront), "locale": writer.string(settings.locale),
                "identifier": writer.string(settings.identifier), "storekitVersion": writer.string(version),
                "applicationInternalID": writer.string(settings.applicationInternalID),
                "xcodeSettings": settings.unknown.isEmpty ? nil : .object(settings.unknown),
                "products": writer.list(items.map { value(of: $0) }),
                "subscriptionGroups": writer.list(app.groups.map { group($0, subscriptions[$0.id] ?? []) }),
            ],
            app.unknown
        )
    }

    /// A product as its app's document has it.
    func value(of product: CatalogProduct) -> JSONValue {
        product.subscription == nil ? writer.object(members(of: product), product.unknown) : subscription(product)
    }

    private func members(of product: CatalogProduct) -> [String: JSONValue?] {
        var members: [String: JSONValue?] = [
            "productID": .string(product.productID.rawValue), "referenceName": writer.string(product.referenceName),
            "internalID": writer.string(product.internalID),
            "familyShareable": product.isFamilyShareable ? .bool(true) : nil,
            "hosted": product.isHosted ? .bool(true) : nil, "availability": availability(product.availability),
            "localizations": writer.localizations(product.localizations),
        ]
        if product.kind != .autoRenewableSubscription { members["type"] = .string(CatalogKinds.name(product.kind)) }
        if product.kind != .freeSubscription { members.merge(writer.prices(product.prices)) { $1 } }
        return members
    }

    private func availability(_ availability: CatalogAvailability) -> JSONValue? {
        switch availability {
        case .everywhere: nil
        case .only(let countries): .object(["only": .array(countries.sorted().map { .string($0) })])
        case .except(let countries): .object(["except": .array(countries.sorted().map { .string($0) })])
        }
    }

    private func group(_ group: CatalogSubscriptionGroup, _ subscriptions: [CatalogProduct]) -> JSONValue {
        writer.object(
            [
                "id": .string(group.id.rawValue), "name": .string(group.name),
                "localizations": writer.localizations(group.localizations),
                "subscriptions": writer.list(subscriptions.map { subscription($0) }),
            ],
            group.unknown
        )
    }

    private func subscription(_ product: CatalogProduct) -> JSONValue {
        var members = members(of: product)
        if let subscription = product.subscription {
            members["groupNumber"] = .number(String(subscription.level))
            members["recurringSubscriptionPeriod"] = .string(subscription.period.description)
            members["preserveCurrentPrice"] = subscription.preservesPrice ? .bool(true) : nil
            members["introductoryOffers"] = offers(subscription.introductoryOffers)
            members["adHocOffers"] = offers(subscription.promotionalOffers)
            members["codeOffers"] = offers(subscription.codeOffers)
            members["winbackOffers"] = offers(subscription.winBackOffers)
            members["billingPlans"] = writer.list(subscription.billingPlans.map(writer.billingPlan))
        }
        return writer.object(members, product.unknown)
    }

    private func offers(_ offers: [CatalogOffer]) -> JSONValue? {
        writer.list(offers.map { writer.offer($0, internalID: $0.internalID) })
    }
}
