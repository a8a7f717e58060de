import StoreWire
import TestSupport

@testable import Store

/// Makes `.storekit` documents as Xcode and people write them: each key is absent, null, empty or filled.
struct StoreKitFileForge {
    /// Which of its possible forms a key takes.
    enum Filling: Sendable, CaseIterable {
        case absent
        case null
        case empty
        case filled
        /// Each key by chance.
        case mixed
    }

    var random: SeededGenerator
    var filling: Filling

    private static let texts = [
        "plain", "yes", "null", "1.50", "a: b", "# none", "\"quoted\"", "Fast, *cheap*, *good*", "Rock, &roll",
        "Really? Yes", "[a]: b", "{x} : y", "*bold*", "line\nbreak", "cafe\u{301}", "caf\u{E9}", "\u{212A}", "\u{85}",
        "全功能包月", "اشتراك", "\u{1}\u{7F}", " lead", "trail ", "!tag &x", "? ?", "- &a *b *c *d *e *f *g",
    ]

    private mutating func text() -> String { Self.texts.randomElement(using: &random) ?? "" }
    private mutating func hex() -> String {
        String((0..<8).map { _ in "0123456789ABCDEF".randomElement(using: &random) ?? "0" })
    }

    /// The member in the form that is wanted; `empty` nil where an empty value cannot be.
    private mutating func put(
        _ key: String, _ empty: JSONValue?, _ filled: (inout Self) -> JSONValue, in object: inout [String: JSONValue]
    ) {
        var form = filling
        if form == .mixed {
            form = [.absent, .null, .empty, .filled, .filled, .filled].randomElement(using: &random) ?? .filled
        }
        switch form {
        case .absent: break
        case .null: object[key] = .null
        case .empty: object[key] = empty ?? .null
        case .filled, .mixed: object[key] = filled(&self)
        }
    }

    private mutating func putText(_ key: String, in object: inout [String: JSONValue]) {
        put(key, .string(""), { .string($0.text()) }, in: &object)
    }

    private mutating func putUnknown(in object: inout [String: JSONValue]) {
        put(
            "future \(text())", .object([:]), { .array([.string($0.text()), .null, .number("1e3"), .object([:])]) },
            in: &object)
    }

    private mutating func localizations(named: Bool) -> JSONValue {
        .array(
            ["en_US", "de", "zh-Hans"].prefix(Int.random(in: 0...3, using: &random)).map { locale in
                var object: [String: JSONValue] = ["locale": .string(locale)]
                if named { object["displayName"] = .string(text()) } else { putText("displayName", in: &object) }
                putText("description", in: &object)
                putUnknown(in: &object)
                return .object(object)
            })
    }

    private mutating func price() -> JSONValue {
        .string(["0", "0.0", "0.00", "0.99", "4.990", "120", "1000000"].randomElement(using: &random) ?? "1")
    }

    private mutating func offer(withID: Bool) -> JSONValue {
        let mode = ["free", "free", "payAsYouGo", "payUpFront"].randomElement(using: &random) ?? "free"
        var object: [String: JSONValue] = [
            "paymentMode": .string(mode),
            "subscriptionPeriod": .string(["P1W", "P3D", "P1M", "P1Y"].randomElement(using: &random) ?? "P1M"),
        ]
        if withID {
            object["offerID"] = .string("offer \(hex())")
        } else {
            put("offerID", .string(""), { .string($0.hex()) }, in: &object)
        }
        // Xcode leaves the price where the mode is changed to a free one.
        if mode == "free" {
            put("displayPrice", nil, { $0.price() }, in: &object)
        } else {
            object["displayPrice"] = price()
        }
        put("internalID", nil, { .string($0.hex()) }, in: &object)
        putText("referenceName", in: &object)
        putText("billingPlanType", in: &object)
        put("numberOfPeriods", nil, { .number(String(Int.random(in: 1...12, using: &$0.random))) }, in: &object)
        put("isStackable", nil, { .bool($0.random.chance(50)) }, in: &object)
        put("eligibility", .array([]), { _ in .array([.string("new"), .string("expired")]) }, in: &object)
        putUnknown(in: &object)
        return .object(object)
    }

    private mutating func offers(withID: Bool) -> JSONValue {
        .array((0..<Int.random(in: 1...3, using: &random)).map { _ in offer(withID: withID) })
    }

    private mutating func billingPlan() -> JSONValue {
        var object: [String: JSONValue] = ["billingPlanType": .string("MONTHLY")]
        put("displayPrice", nil, { $0.price() }, in: &object)
        put("commitmentDisplayPrice", nil, { $0.price() }, in: &object)
        put("internalID", .string(""), { .string($0.hex()) }, in: &object)
        put("isEnabled", nil, { .bool($0.random.chance(50)) }, in: &object)
        putUnknown(in: &object)
        return .object(object)
    }

    private mutating func product(_ id: String, _ type: String) -> [String: JSONValue] {
        var object: [String: JSONValue] = [
            "productID": .string(id), "type": .string(type), "displayPrice": price(),
        ]
        putText("referenceName", in: &object)
        put(
            "internalID", nil,
            { forge in
                let number = String(Int.random(in: 6_712_345_000...6_712_345_999, using: &forge.random))
                return .string(forge.random.chance(30) ? number : forge.hex())
            }, in: &object)
        put("familyShareable", nil, { .bool($0.random.chance(50)) }, in: &object)
        put("localizations", .array([]), { $0.localizations(named: true) }, in: &object)
        putUnknown(in: &object)
        return object
    }

    private mutating func subscription(_ id: String, _ group: String) -> JSONValue {
        var object = product(id, "RecurringSubscription")
        object["recurringSubscriptionPeriod"] = .string("P1M")
        put("subscriptionGroupID", nil, { _ in .string(group) }, in: &object)
        put("groupNumber", nil, { .number(String(Int.random(in: 1...9, using: &$0.random))) }, in: &object)
        put("introductoryOffers", .array([]), { $0.offers(withID: false) }, in: &object)
        var first: JSONValue?
        if case .array(let list)? = object["introductoryOffers"] { first = list.first }
        // Often the same as the first of the list.
        put(
            "introductoryOffer", nil,
            { [first] forge in
                if let first, forge.random.chance(70) { return first }
                return forge.offer(withID: false)
            }, in: &object)
        put("adHocOffers", .array([]), { $0.offers(withID: true) }, in: &object)
        put("codeOffers", .array([]), { $0.offers(withID: false) }, in: &object)
        put("winbackOffers", .array([]), { $0.offers(withID: false) }, in: &object)
        put("billingPlans", .array([]), { .array([$0.billingPlan()]) }, in: &object)
        return .object(object)
    }

    private mutating func group(_ index: Int) -> JSONValue {
        let id = "Group \(index)"
        var object: [String: JSONValue] = ["id": .string(id)]
        putText("name", in: &object)
        put("localizations", .array([]), { $0.localizations(named: false) }, in: &object)
        put(
            "subscriptions", .array([]),
            { forge in
                .array((0..<3).map { forge.subscription("com.example.made.s\(index)\($0)", id) })
            }, in: &object)
        putUnknown(in: &object)
        return .object(object)
    }

    private mutating func settings() -> JSONValue {
        var object: [String: JSONValue] = [:]
        put("_storefront", nil, { _ in .string("JPN") }, in: &object)
        put("_locale", nil, { _ in .string("ja_JP") }, in: &object)
        put("_applicationInternalID", .string(""), { .string($0.random.chance(50) ? "1234567890" : "12") }, in: &object)
        put("_timeRate", .number("0"), { _ in .number("6") }, in: &object)
        putUnknown(in: &object)
        return .object(object)
    }

    /// One document.
    mutating func document() -> JSONValue {
        var version: [String: JSONValue] = ["major": .number(String(Int.random(in: 1...5, using: &random)))]
        put(
            "minor", .number("0"), { .number(["1", "15", "123456"].randomElement(using: &$0.random) ?? "1") },
            in: &version)
        var object: [String: JSONValue] = ["version": .object(version)]
        put("identifier", .string(""), { .string($0.hex()) }, in: &object)
        put("settings", .object([:]), { $0.settings() }, in: &object)
        put(
            "products", .array([]),
            { forge in
                .array(
                    (0..<4).map {
                        .object(forge.product("com.example.made.p\($0)", $0 % 2 == 0 ? "Consumable" : "NonConsumable"))
                    })
            }, in: &object)
        put(
            "nonRenewingSubscriptions", .array([]),
            { forge in
                .array((0..<2).map { .object(forge.product("com.example.made.n\($0)", "NonRenewingSubscription")) })
            }, in: &object)
        put("subscriptionGroups", .array([]), { forge in .array((0..<2).map { forge.group($0) }) }, in: &object)
        putUnknown(in: &object)
        return .object(object)
    }
}
