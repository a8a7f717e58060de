import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreWire

/// The parts of the managed catalog that only subscriptions have: groups, levels, periods and offers.
enum ManagedSubscriptions {
    private typealias Offers = ControlAPI.DocumentOffers

    // MARK: Groups

    static func groups(
        _ request: PageRequest, _ app: ControlAPI.ManagedApp, _ products: [ControlAPI.ManagedProduct]
    ) -> ConsoleSection {
        var section = ConsoleSection(
            "groups", "Subscription groups",
            text: "A customer has one subscription of a group at a time. Create the group before its products.")
        let path = "managed/\(app.bundleId.percentEncoded)"
        let revision = ConsoleHidden("revision", "\(app.revision)")
        var table = ConsoleTable(
            "Groups",
            [
                ConsoleColumn("Group"), ConsoleColumn("Name"), ConsoleColumn("Name for customers"),
                ConsoleColumn("Products", isNumber: true), ConsoleColumn("Do"),
            ],
            nothing: "No subscription groups yet. Create the first one:",
            command: "cornerstore app group 21000001 --name Club --app \(app.bundleId.shellWord)")
        for group in app.groups.prefix(50) {
            let texts = ControlAPI.DocumentTexts(group.localizations).all.map { "\($0.locale): \($0.displayName)" }
            let count = products.filter { $0.groupId == group.id }.count
            var action = ConsoleCell("—", tone: .dim)
            if count == 0 {
                action = ConsoleCell(buttons: [
                    ConsoleButton(
                        "Delete", about: "Delete the group \(group.name)",
                        action: request.action(path + "/group-delete"),
                        hidden: [ConsoleHidden("group", group.id), revision], tone: .bad)
                ])
            }
            table.add([
                ConsoleCell(group.id, link: request.link(path, [("group", group.id)]) + "#groups"),
                ConsoleCell(group.name), ConsoleCell(texts.isEmpty ? "—" : texts.joined(separator: ", ")),
                ConsoleCell("\(count)"), action,
            ])
        }
        section.table = table
        let chosen = app.groups.first { $0.id == request.filter("group") }
        section.forms = [
            ConsoleForm(
                chosen.map { "Change \($0.name)" } ?? "New group", action: request.action(path + "/group"),
                fields: [
                    ConsoleField(
                        "group", "Group id", value: chosen?.id ?? "", hint: "Digits, such as 21000001.",
                        isRequired: true),
                    ConsoleField("name", "Reference name", value: chosen?.name ?? "", isRequired: true),
                    ConsoleField("locale", "Language", value: app.locale ?? "en_US"),
                    ConsoleField(
                        "display", "Name that customers read in this language",
                        hint: "Names in other languages stay. An empty field changes no name."),
                ], hidden: [revision], button: "Save the group")
        ]
        return section
    }

    @Sendable static func setGroup(_ action: ActionRequest) async throws -> ActionOutcome {
        let bundle = action.page.parameter("bundle")
        let id = try action.required("group", "Group id")
        let app: ControlAPI.ManagedApp = try await action.api.ask(.managed(.app(bundle)))
        var texts = ControlAPI.DocumentTexts(app.groups.first { $0.id == id }?.localizations)
        if let display = action.text("display") {
            texts.set("displayName", display, in: try action.required("locale", "Language"))
        }
        let _: ControlAPI.ManagedApp = try await action.api.send(
            .managed(.setGroup(bundle, id)),
            ControlAPI.ManagedGroupChange(
                revision: try ManagedPages.revision(action), name: try action.required("name", "Reference name"),
                localizations: texts.value, by: ManagedPages.author))
        return .done("managed/\(bundle.percentEncoded)", message: "Saved the group \(id).")
    }

    @Sendable static func deleteGroup(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, id) = (action.page.parameter("bundle"), try action.required("group", "Group id"))
        let _: ControlAPI.ManagedApp = try await action.api.ask(
            .managed(
                .deleteGroup(bundle, id, revision: try ManagedPages.revision(action), by: ManagedPages.author)))
        return .done("managed/\(bundle.percentEncoded)", message: "Deleted the group \(id).")
    }

    // MARK: Level and period

    /// The fields of a new subscription.
    static func fields(_ groups: [ControlAPI.ManagedGroup]) -> [ConsoleField] {
        [
            ConsoleField(
                "group", "Subscription group", .choice,
                options: [ConsoleOption("", "No subscription")]
                    + groups.prefix(500).map { ConsoleOption($0.id, "\($0.name) (\($0.id))") },
                hint: "For auto-renewable subscriptions; fixed once saved.")
        ] + fields(level: "1", period: "P1M")
    }

    /// The fields of a subscription as it is.
    static func fields(of product: ControlAPI.ManagedProduct) -> [ConsoleField] {
        var level = "1"
        if case .number(let number)? = product.document["groupNumber"] { level = "\(number)" }
        return fields(level: level, period: product.document["recurringSubscriptionPeriod"]?.text ?? "P1M")
    }

    private static func fields(level: String, period: String) -> [ConsoleField] {
        [
            ConsoleField("level", "Level in the group", .number, value: level, hint: "1 is the highest."),
            ConsoleField(
                "period", "Period", .choice,
                options: periods(with: period).map { ConsoleOption($0, words($0), isChosen: $0 == period) }),
        ]
    }

    /// App Store Connect's periods, and the present one when a file said another.
    private static func periods(with period: String) -> [String] {
        let usual = ["P1W", "P1M", "P2M", "P3M", "P6M", "P1Y"]
        return usual.contains(period) ? usual : usual + [period]
    }

    /// A period in words, such as `1 month`.
    private static func words(_ period: String) -> String {
        guard let parsed = SubscriptionPeriod(iso8601: period) else { return period }
        let unit =
            switch parsed.unit {
            case .day: "day"
            case .week: "week"
            case .month: "month"
            case .year: "year"
            }
        return "\(parsed.count) \(unit)\(parsed.count == 1 ? "" : "s")"
    }

    /// The keys of level and period.
    static func changes(_ action: ActionRequest) throws -> [String: ControlAPI.CatalogValue] {
        let level = try action.number("level", "Level in the group", 1...1_000, otherwise: 1)
        return [
            "groupNumber": .number(Decimal(level)),
            "recurringSubscriptionPeriod": .string(try period(action, "period", "Period")),
        ]
    }

    private static func period(_ action: ActionRequest, _ name: String, _ label: String) throws -> String {
        let text = try action.required(name, label)
        guard SubscriptionPeriod(iso8601: text) != nil else {
            throw FormProblem(name, "“\(label)” must be a period such as P1M.")
        }
        return text
    }

    // MARK: Offers

    static func offers(
        _ request: PageRequest, _ product: ControlAPI.ManagedProduct, _ path: String
    ) -> ConsoleSection {
        var section = ConsoleSection(
            "offers", "Offers",
            text:
                "Offers belong to the product: a change takes effect at once. A new subscriber of the group, or a former one who never had it, gets the introductory offer; the app's server signs promotional offers."
        )
        let revision = ConsoleHidden("revision", "\(product.revision)")
        var table = ConsoleTable(
            "Introductory and promotional offers",
            [
                ConsoleColumn("Offer"), ConsoleColumn("Payment"), ConsoleColumn("Period"),
                ConsoleColumn("Price", isNumber: true), ConsoleColumn("Do"),
            ],
            nothing: "The subscription has no offers. Create the first one:",
            command:
                "cornerstore product offer \(product.productId.shellWord) --app \(product.bundleId.shellWord) --introductory --payment free --period P1W"
        )
        for kind in Offers.Kind.allCases {
            for offer in Offers(kind, of: product.document).all.prefix(25) {
                let name = offer.id ?? kind.rawValue
                table.add([
                    ConsoleCell(
                        offer.referenceName ?? name,
                        link: request.link(path, [("offer", name)]) + "#offers",
                        note: offer.id.map { "\(kind.rawValue) \($0)" }),
                    ConsoleCell(offer.paymentMode),
                    ConsoleCell("\(offer.numberOfPeriods ?? 1) × \(offer.period)"),
                    ConsoleCell(offer.price.map { "\($0) \(product.currency)" } ?? "free"),
                    ConsoleCell(buttons: [
                        ConsoleButton(
                            "Remove", about: "Remove the offer \(name)",
                            action: request.action(path + "/offer-remove"),
                            hidden: [
                                ConsoleHidden("kind", kind.rawValue), ConsoleHidden("id", offer.id ?? ""), revision,
                            ],
                            tone: .bad)
                    ]),
                ])
            }
        }
        section.table = table
        let chosen = request.filter("offer")
        let introductory = Offers(.introductory, of: product.document).all.first
        let promotional = Offers(.promotional, of: product.document).all.first { $0.id == chosen }
        section.forms = [
            ConsoleForm(
                "Introductory offer", action: request.action(path + "/introductory"),
                fields: fields(introductory), hidden: [revision], button: "Save the introductory offer"),
            ConsoleForm(
                promotional.map { "Change \($0.id ?? "")" } ?? "Promotional offer",
                action: request.action(path + "/promotional"),
                fields: [
                    ConsoleField(
                        "id", "Offer id", value: promotional?.id ?? "",
                        hint: "The app requests the offer by this identifier.",
                        isRequired: true),
                    ConsoleField("reference", "Reference name", value: promotional?.referenceName ?? ""),
                ] + fields(promotional), hidden: [revision], button: "Save the promotional offer"),
        ]
        return section
    }

    private static let payments = [
        ("free", "free"), ("payAsYouGo", "as they go, each period"), ("payUpFront", "up front, once"),
    ]

    private static func fields(_ offer: Offers.Offer?) -> [ConsoleField] {
        [
            ConsoleField(
                "payment", "Customers pay", .choice,
                options: payments.map { ConsoleOption($0, $1, isChosen: $0 == offer?.paymentMode) }),
            ConsoleField(
                "period", "Period", value: offer?.period ?? "P1W", hint: "Such as P3D, P1W, P1M or P1Y.",
                isRequired: true),
            ConsoleField("periods", "Number of periods", .number, value: "\(offer?.numberOfPeriods ?? 1)"),
            ConsoleField(
                "price", "Price of a period", value: offer?.price ?? "", hint: "A decimal; empty for a free offer."),
        ]
    }

    @Sendable static func setIntroductory(_ action: ActionRequest) async throws -> ActionOutcome {
        try await set(.introductory, id: nil, action)
    }

    @Sendable static func setPromotional(_ action: ActionRequest) async throws -> ActionOutcome {
        try await set(.promotional, id: try action.required("id", "Offer id"), action)
    }

    private static func set(
        _ kind: Offers.Kind, id: String?, _ action: ActionRequest
    ) async throws -> ActionOutcome {
        let payment = try action.required("payment", "Customers pay")
        let price = action.text("price")
        guard (payment == "free") == (price == nil) else {
            throw FormProblem(
                "price", price == nil ? "“Price of a period” is empty. Fill it in." : "A free offer has no price.")
        }
        let periods = try action.number("periods", "Number of periods", 1...1_000, otherwise: 1)
        let period = try period(action, "period", "Period")
        return try await ManagedPages.change(action) { known in
            var offers = Offers(kind, of: known.document)
            // The form of the introductory offer has no identifier and no name: those of a file stay.
            let old = kind == .introductory ? offers.all.first : nil
            offers.set(
                Offers.Offer(
                    id: id ?? old?.id, referenceName: action.text("reference") ?? old?.referenceName,
                    paymentMode: payment, period: period, numberOfPeriods: periods, price: price))
            return [kind.key: offers.value]
        }
    }

    @Sendable static func removeOffer(_ action: ActionRequest) async throws -> ActionOutcome {
        guard let kind = action.text("kind").flatMap(Offers.Kind.init(rawValue:)) else {
            throw FormProblem("", "The form names no offer. Load the page again.")
        }
        return try await ManagedPages.change(action) { known in
            var offers = Offers(kind, of: known.document)
            guard offers.remove(kind == .introductory ? nil : action.text("id")) else {
                throw FormProblem("", "The product has no such offer. Load the page again.")
            }
            return [kind.key: offers.value]
        }
    }
}
