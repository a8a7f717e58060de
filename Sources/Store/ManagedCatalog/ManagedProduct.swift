import StoreWire

/// A version of a managed product's texts. Dates are milliseconds since 1970 by production's clock.
public struct ManagedVersion: Sendable, Equatable {
    /// The version's number, from 1.
    public var number: Int64
    /// The version's stage.
    public var stage: ManagedStage
    /// The names and descriptions.
    public var texts: [CatalogLocalization]
    /// The reviewer's reason for the last rejection.
    public var reason: String?
    /// The app's version with which the texts were last submitted.
    public var appVersion: String?
    /// When the version was created.
    public var createdAt: Int64
    /// When the version was last submitted.
    public var submittedAt: Int64?
    /// When a reviewer last decided.
    public var decidedAt: Int64?
}

/// A product of a managed app. Its type and id never change; its texts are in versions.
public struct ManagedProduct: Sendable, Equatable {
    /// The product without texts.
    var base: CatalogProduct
    /// The product's place in the app's list.
    var place: Int64
    /// The number that a change of the product must name.
    public var revision: Int64
    /// Whether the product has a price. Without one, ``base`` says zero.
    public var isPriced: Bool
    /// Whether the developer removed the product from sale.
    public var isRemoved: Bool
    /// When the product was created, in milliseconds since 1970 by production's clock.
    public var createdAt: Int64
    /// The versions of the texts, oldest first. Never empty.
    public var versions: [ManagedVersion]
    /// The hosted content; nil while hosting is off.
    public var content: HostedProduct?

    /// The identifier.
    public var productID: ProductID { base.productID }

    /// The newest version.
    public var newest: ManagedVersion { versions[versions.count - 1] }

    /// The version whose texts production shows; nil when none was ever approved.
    public var live: ManagedVersion? { versions.last { $0.stage == .approved } }

    /// The product with the newest version's texts.
    public var product: CatalogProduct { product(with: newest.texts) }

    /// The product's state.
    public var state: ManagedState { life.state }

    /// Whether any version was ever approved.
    public var wasLive: Bool { live != nil }

    var life: ManagedLife {
        ManagedLife(stage: newest.stage, wasLive: wasLive, isRemoved: isRemoved, gap: gap)
    }

    private var gap: ManagedGap? {
        guard missingMetadata.isEmpty else { return .metadata }
        guard let content, !content.versions.contains(where: { $0.state.isTestable }) else { return nil }
        return content.state == .processingContent ? .processing : .upload
    }

    /// The things that the product needs before it can be submitted.
    public var needs: [String] {
        switch gap {
        case .metadata: missingMetadata
        case .upload:
            ["a package of hosted content: validate it with “cornerstore content check”, then upload it"]
        case .processing: ["the end of the check of its hosted content"]
        case nil: []
        }
    }

    private var missingMetadata: [String] {
        var missing: [String] = []
        if !isPriced, base.kind != .freeSubscription { missing.append("a price") }
        if newest.texts.isEmpty { missing.append("a localization with a name and a description") }
        for text in newest.texts {
            if text.displayName.isEmpty { missing.append("a name in \(text.locale)") }
            if text.description?.isEmpty ?? true { missing.append("a description in \(text.locale)") }
        }
        return missing
    }

    /// The product as an environment sells it; nil while it sells it not.
    func product(in environment: StoreEnvironment) -> CatalogProduct? {
        guard !isRemoved else { return nil }
        if environment == .sandbox, life.isTestable { return product }
        return live.map { product(with: $0.texts) }
    }

    private func product(with texts: [CatalogLocalization]) -> CatalogProduct {
        var product = base
        product.localizations = texts
        product.isHosted = content != nil
        return product
    }
}

/// An app whose catalog the store manages.
public struct ManagedApp: Sendable, Equatable {
    /// The app without products.
    var frame: CatalogApp
    /// The number that a change of the app must name.
    public var revision: Int64
    /// Whether the app may sell in-app purchases. If not, all its products are invalid identifiers.
    public var sellsInAppPurchases: Bool
    /// The rule for reviewing submitted products.
    public var review: ManagedReview
    /// When the app was registered, in milliseconds since 1970 by production's clock.
    public var createdAt: Int64
    /// The products in their order, without deleted ones.
    public var products: [ManagedProduct]

    /// The app's bundle identifier.
    public var bundleID: BundleID { frame.bundleID }

    /// The product with this identifier; nil when the app has none.
    public func product(_ productID: ProductID) -> ManagedProduct? { products.first { $0.productID == productID } }

    /// The app with all its products and their newest texts.
    public var whole: CatalogApp { app(with: products.map(\.product)) }

    func app(with products: [CatalogProduct]) -> CatalogApp {
        CatalogApp(
            bundleID: frame.bundleID, name: frame.name, products: products, groups: frame.groups,
            settings: frame.settings, unknown: frame.unknown)
    }
}

/// An item of the checklist that a seller completes before its products are sold. No account numbers are kept.
public struct ManagedChecklistItem: Sendable, Equatable {
    /// The items, in their order.
    public enum Name: String, Sendable, CaseIterable {
        /// The agreement about paid apps.
        case agreement
        /// The tax forms.
        case tax
        /// The bank details.
        case bank
    }

    /// The item.
    public var name: Name
    /// Whether managed apps sell nothing while the item is missing.
    public var isRequired = false
    /// When and by whom the item was done; nil while it is missing.
    public var done: Done?

    /// When and by whom an item was done.
    public struct Done: Sendable, Equatable {
        /// The date, in milliseconds since 1970 by production's clock.
        public var date: Int64
        /// The person's name.
        public var author: String
    }

    /// Whether the item keeps products from being sold.
    public var isMissing: Bool { isRequired && done == nil }
}

/// A change in a managed app's history.
public struct ManagedChange: Sendable, Equatable {
    /// The change's number in the app, from 1.
    public var number: Int64 = 0
    /// The product that was changed; nil for the app.
    public var productID: ProductID?
    /// The date, in milliseconds since 1970 by production's clock.
    public var date: Int64
    /// The person who made the change.
    public var author: String
    /// The kind of change, such as `create`, `change` or `approve`.
    public var kind: String
    /// The state or the document before; nil for something new.
    public var before: String?
    /// The state or the document afterwards; nil for something deleted.
    public var after: String?
    /// A remark, such as the reason for a rejection.
    public var note: String?
}

/// A change named a revision that is no longer the newest: another editor was faster.
public struct StaleRevision: Error, Sendable {
    /// The app's current state, when the app was to be changed.
    public var app: ManagedApp?
    /// The current state of the products that were to be changed.
    public var products: [ManagedProduct] = []
    /// The app's default storefront and rest, for the description of ``products``.
    public var owner: ManagedApp
}

/// Problems of a catalog file that was to be taken in.
public struct RefusedCatalog: Error, Sendable {
    /// The problems, each with its line in the file, or with its product when the store could not keep what the file
    /// says.
    public var problems: [String]
}

extension ManagedProduct {
    /// The product as a YAML catalog has it, with the newest texts.
    public var document: JSONValue { ManagedDocument.value(of: product, isPriced: isPriced) }

    /// Texts as a YAML catalog has them.
    public static func document(of texts: [CatalogLocalization]) -> JSONValue { ManagedDocument.value(of: texts) }

    /// Whether an environment sells the product while its app may sell.
    public func isSold(in environment: StoreEnvironment) -> Bool { product(in: environment) != nil }
}

extension ManagedApp {
    /// The app's name for customers.
    public var name: String? { frame.name }

    /// The subscription groups.
    public var groups: [CatalogSubscriptionGroup] { frame.groups }

    /// The settings that a catalog file has for the app, such as the default storefront.
    public var settings: CatalogSettings { frame.settings }

    /// The default storefront.
    public var storefront: Storefront { frame.storefront }
}
