import ControlWire
import Foundation
import Store
import StoreWire

extension ControlAPI.ManagedApp {
    init(_ app: ManagedApp, _ checklist: [ManagedChecklistItem]) {
        self.init(
            bundleId: app.bundleID.rawValue, name: app.name, revision: app.revision,
            inAppPurchase: app.sellsInAppPurchases, review: app.review.rawValue, storefront: app.settings.storefront,
            locale: app.settings.locale,
            groups: app.groups.map {
                ControlAPI.ManagedGroup(
                    id: $0.id.rawValue, name: $0.name, localizations: ControlAPI.CatalogValue($0.localizations))
            }, products: app.products.count,
            inReview: app.products.filter { [.waitingForReview, .inReview].contains($0.newest.stage) }.count,
            missing: checklist.filter(\.isMissing).map(\.name.rawValue),
            createdDate: ControlAPI.text(app.createdAt))
    }
}

extension ControlAPI.ManagedProduct {
    /// - Parameter isOpen: whether the app may sell now.
    init(_ product: ManagedProduct, of app: ManagedApp, isOpen: Bool) {
        let described = product.product
        let storefront = app.storefront
        self.init(
            bundleId: app.bundleID.rawValue, productId: product.productID.rawValue, kind: described.kind.rawValue,
            groupId: described.subscription?.groupID.rawValue, referenceName: described.referenceName,
            displayName: described.localizations.first?.displayName,
            price: product.isPriced ? described.prices.price(in: storefront).decimal : nil,
            currency: storefront.currency, locales: described.localizations.map(\.locale), revision: product.revision,
            state: product.state.rawValue, stateName: product.state.name, needs: product.needs,
            inSandbox: isOpen && product.isSold(in: .sandbox), inProduction: isOpen && product.isSold(in: .production),
            wasLive: product.wasLive, hosted: product.content != nil, contentState: product.content?.state.rawValue,
            versions: product.versions.reversed().map(ControlAPI.ManagedVersion.init),
            document: ControlAPI.CatalogValue(product.document), createdDate: ControlAPI.text(product.createdAt))
    }
}

extension ControlAPI.ManagedVersion {
    init(_ version: ManagedVersion) {
        self.init(
            number: version.number, state: version.stage.rawValue,
            localizations: ControlAPI.CatalogValue(version.texts), reason: version.reason,
            appVersion: version.appVersion, createdDate: ControlAPI.text(version.createdAt),
            submittedDate: version.submittedAt.map { ControlAPI.text($0) },
            decidedDate: version.decidedAt.map { ControlAPI.text($0) })
    }
}

extension ControlAPI.Checklist {
    init(_ items: [ManagedChecklistItem]) {
        self.init(
            items: items.map {
                Item(
                    item: $0.name.rawValue, required: $0.isRequired,
                    doneDate: $0.done.map { ControlAPI.text($0.date) }, doneBy: $0.done?.author)
            })
    }
}

extension ControlAPI.ManagedChange {
    init(_ change: ManagedChange) {
        self.init(
            number: change.number, productId: change.productID?.rawValue, date: ControlAPI.text(change.date),
            by: change.author, action: change.kind, before: change.before, after: change.after, note: change.note)
    }
}

extension JSONValue {
    /// The value of a message.
    init(_ value: ControlAPI.CatalogValue) {
        self =
            switch value {
            case .null: .null
            case .bool(let flag): .bool(flag)
            case .number(let number): .number(number.description)
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map { JSONValue($0) })
            case .object(let members): .object(members.mapValues { JSONValue($0) })
            }
    }
}

extension ControlAPI.CatalogValue {
    /// The value for a message. A number that a message cannot have is a string.
    init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .bool(let flag): .bool(flag)
            case .number(let literal): Decimal(string: literal).map { .number($0) } ?? .string(literal)
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map { ControlAPI.CatalogValue($0) })
            case .object(let members): .object(members.mapValues { ControlAPI.CatalogValue($0) })
            }
    }

    init(_ texts: [CatalogLocalization]) { self.init(ManagedProduct.document(of: texts)) }
}
