import ConsolePages
import ControlWire
import CornerstoreEncoding
import StoreWire

/// The codes for offers of subscriptions, on the page of subscriptions.
enum OfferCodePages {
    static let actions = [
        ConsoleAction(
            path: "subscriptions/offer-codes", routes: [.control(.createOfferCodes(.sandbox))], page: "subscriptions",
            change: "make offer codes", perform: create),
        ConsoleAction(
            path: "subscriptions/deactivate-codes", routes: [.control(.deactivateOfferCodes(.sandbox, id: ""))],
            page: "subscriptions", change: "deactivate offer codes", perform: deactivate),
    ]

    /// The section with the batches and custom codes.
    /// - Parameter apps: the apps whose offers the form lists.
    static func section(
        _ request: PageRequest, _ apps: [ControlAPI.CatalogApp]
    ) async throws -> ConsoleSection {
        let all: [ControlAPI.OfferCodeBatch] = try await request.api.ask(.offerCodes(request.environment))
        let found = all.filter { request.app == nil || $0.bundleId == request.app }
        var section = ConsoleSection(
            "offer-codes", "Offer codes",
            text: "A code gives an offer of a subscription. A customer redeems one code of an offer.", isLive: true)
        let offers = offers(apps)
        var table = ConsoleTable(
            "Batches and custom codes, the newest first",
            [
                ConsoleColumn("Code"), ConsoleColumn("Offer"), ConsoleColumn("Redeemed"), ConsoleColumn("Made"),
                ConsoleColumn("Expires"), ConsoleColumn("Do"),
            ], nothing: "No offer codes yet. Create the first ones:",
            command: "cornerstore offer-code create-batch \(offers.first?.product.shellWord ?? "SUBSCRIPTION") --offer "
                + "\(offers.first?.name.shellWord ?? "OFFER") --count 10\(request.flag)")
        for batch in request.rows(found, of: &table, at: "subscriptions", in: "offer-codes", by: "batches") {
            table.add(row(batch, request))
        }
        section.table = table
        section.forms = form(offers, request).map { [$0] } ?? []
        return section
    }

    private static func row(_ batch: ControlAPI.OfferCodeBatch, _ request: PageRequest) -> [ConsoleCell] {
        let name = batch.customCode ?? "\(batch.count) one-time codes"
        return [
            ConsoleCell(name, note: batch.batchId, isID: batch.customCode != nil),
            ConsoleCell(batch.offer, note: batch.productId), ConsoleCell("\(batch.redeemed) of \(batch.count)"),
            request.moments.cell(batch.createdDate),
            batch.expiresDate.map { request.moments.cell($0) } ?? ConsoleCell("Never", tone: .dim),
            batch.isActive
                ? ConsoleCell(buttons: [
                    ConsoleButton(
                        "Deactivate", about: "Deactivate \(name) of \(batch.offer)",
                        action: request.action("subscriptions/deactivate-codes"),
                        hidden: [ConsoleHidden("id", batch.batchId)])
                ]) : ConsoleCell("Inactive", tone: .dim),
        ]
    }

    private static func form(
        _ offers: [(bundle: String, product: String, name: String)], _ request: PageRequest
    ) -> ConsoleForm? {
        let options = offers.prefix(500).map {
            ConsoleOption("\($0.bundle) \($0.product) \($0.name)", "\($0.name), \($0.product)")
        }
        guard !options.isEmpty else { return nil }
        return ConsoleForm(
            "Make offer codes", action: request.action("subscriptions/offer-codes"),
            fields: [
                ConsoleField("offer", "Offer", .choice, options: Array(options)),
                ConsoleField("count", "How many", .number, value: "10", isRequired: true),
                ConsoleField("code", "Custom code"),
                ConsoleField("expires", "Expires, UTC", hint: "2027-01-31 12:00:00; empty for never."),
            ], button: "Make offer codes",
            text:
                "Without a custom code, this makes one-time codes. With one, it is how often the code can be redeemed.")
    }

    /// The offers that codes can be made for.
    private static func offers(
        _ apps: [ControlAPI.CatalogApp]
    ) -> [(bundle: String, product: String, name: String)] {
        apps.flatMap { app in
            app.products.flatMap { product in
                (product.subscription?.offers ?? []).filter { $0.kind == "code" }.compactMap { offer in
                    offer.referenceName.map { (bundle: app.bundleId, product: product.productId, name: $0) }
                }
            }
        }
    }

    @Sendable private static func create(_ action: ActionRequest) async throws -> ActionOutcome {
        let parts = try action.required("offer", "Offer").split(separator: " ", maxSplits: 2).map { String($0) }
        guard parts.count == 3 else { throw FormProblem("offer", "Choose an offer.") }
        let count = try action.number("count", "How many", 1...1_000_000, otherwise: 0)
        let batch: ControlAPI.OfferCodeBatch = try await action.api.send(
            .createOfferCodes(action.environment),
            ControlAPI.NewOfferCodes(
                bundleId: parts[0], productId: parts[1], offer: parts[2], customCode: action.text("code"),
                count: count, expiresDate: try action.instant("expires")))
        return .done(
            "subscriptions",
            message: batch.customCode.map { "\($0) gives “\(batch.offer)” \(batch.count) times." }
                ?? "\(batch.count) codes are made. “cornerstore offer-code show \(batch.batchId) --codes” prints them.")
    }

    @Sendable private static func deactivate(_ action: ActionRequest) async throws -> ActionOutcome {
        let id = try action.required("id", "Codes")
        try await action.api.perform(.deactivateOfferCodes(action.environment, id: id))
        return .done("subscriptions", message: "Deactivated. Earlier redemptions stay valid.")
    }
}
