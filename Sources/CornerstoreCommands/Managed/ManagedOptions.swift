import ArgumentParser
import ControlWire
import Foundation
import Store
import StoreWire

/// The options of commands that change the managed catalog.
struct ManagedOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Who made the change, for the history (default: $USER).", valueName: "name"))
    var by: String?
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    /// The author of the change; nil lets the store choose one.
    var author: String? { by ?? Console.current.environment["USER"].flatMap { $0.isEmpty ? nil : $0 } }

    func report(_ products: [ControlAPI.ManagedProduct]) throws {
        try Console.current.report(products, json: output.json) { ManagedText.table(products, $0) }
    }

    func report(_ product: ControlAPI.ManagedProduct) throws {
        try Console.current.report(product, json: output.json) { ManagedText.text(product, $0) }
    }

    func report(_ app: ControlAPI.ManagedApp) throws {
        try Console.current.report(app, json: output.json) { ManagedText.text(app, $0) }
    }
}

/// Finds the managed app that `--app` names, and requests its products.
struct ManagedTarget: ParsableArguments {
    @Option(help: ArgumentHelp("The app's bundle id. Required when there are several apps.", valueName: "bundle-id"))
    var app: String?

    /// Returns the given app, or the only managed app.
    /// - Throws: ``CommandError`` when the store manages no app or several apps.
    func bundleID(_ client: ControlClient) async throws -> String {
        if let app { return app }
        let apps: [ControlAPI.ManagedApp] = try await client.send(.managed(.apps))
        guard let first = apps.first else {
            throw CommandError(
                .refused, "The store manages no app. Register one with “cornerstore app register BUNDLE”.")
        }
        guard apps.count == 1 else {
            throw CommandError(
                .usage, "Choose an app with --app: \(apps.map(\.bundleId).joined(separator: ", ")).")
        }
        return first.bundleId
    }

    /// Gets a product.
    /// - Throws: ``CommandError`` when the store does not manage it.
    func product(_ product: String, _ client: ControlClient) async throws -> ControlAPI.ManagedProduct {
        let bundleID: String
        if let app {
            bundleID = app
        } else {
            let apps: [ControlAPI.ManagedApp] = try await client.send(.managed(.apps))
            bundleID =
                apps.count == 1
                ? apps[0].bundleId : try await AppSelection.bundleID(of: product, app: nil, client)
        }
        return try await client.send(.managed(.product(bundleID, product)))
    }
}

/// Reports about the managed catalog for people.
enum ManagedText {
    static func table(_ products: [ControlAPI.ManagedProduct], _ style: Style) -> String {
        guard !products.isEmpty else { return "No products. Create one with “cornerstore product create”." }
        let rows = products.map { product in
            [
                product.productId, product.kind, price(product), product.stateName,
                product.inSandbox ? "sold" : "-", product.inProduction ? "sold" : "-",
                Style.printable(product.displayName ?? product.referenceName ?? ""),
            ]
        }
        return Table(
            heading: ["product", "kind", "price", "state", "sandbox", "production", "name"], rows: rows
        ).text(style)
    }

    /// Returns the name of a state, such as `Ready to Submit` for `READY_TO_SUBMIT`.
    static func state(_ word: String) -> String {
        ManagedState(rawValue: word)?.name ?? (word == ManagedStage.preparing.rawValue ? "Preparing" : word)
    }

    static func price(_ product: ControlAPI.ManagedProduct) -> String {
        product.kind == ProductKind.freeSubscription.rawValue
            ? "free" : product.price.map { "\($0) \(product.currency)" } ?? "none"
    }

    static func text(_ product: ControlAPI.ManagedProduct, _ style: Style) -> String {
        var lines = [
            style.bold(Style.printable(product.productId)) + "  "
                + style.dim("\(product.bundleId), \(product.kind), revision \(product.revision)"),
            "\(style.accent(product.stateName))  \(price(product))"
                + (product.groupId.map { "  group \(Style.printable($0))" } ?? "")
                + (product.hosted ? "  hosted content: \(ContentWords.state(product.contentState ?? ""))" : ""),
            "sold now: sandbox \(product.inSandbox ? "yes" : "no"), production \(product.inProduction ? "yes" : "no")",
        ]
        lines += product.needs.map { "needs \(Style.printable($0))" }
        for version in product.versions {
            let reason = version.reason.map { ": \(Style.printable($0))" } ?? ""
            let with = version.appVersion.map { ", with version \(Style.printable($0)) of the app" } ?? ""
            lines.append("texts \(version.number)  \(state(version.state))\(reason)\(with)")
            guard case .array(let texts) = version.localizations else { continue }
            for text in texts {
                func value(_ key: String) -> String { Style.printable(text[key]?.text ?? "") }
                lines.append("    \(value("locale"))  \(value("displayName"))  \(style.dim(value("description")))")
            }
        }
        return lines.joined(separator: "\n")
    }

    static func text(_ app: ControlAPI.ManagedApp, _ style: Style) -> String {
        let groups = app.groups.map { "\($0.id) \($0.name)" }.joined(separator: ", ")
        return style.bold(app.bundleId) + "\n"
            + Table.fields(
                [
                    ("  name", app.name.map { Style.printable($0) }),
                    ("  in-app purchase", app.inAppPurchase ? "enabled" : "off: all products are invalid identifiers"),
                    ("  review", app.review), ("  products", "\(app.products)"),
                    ("  groups", groups.isEmpty ? nil : Style.printable(groups)),
                    (
                        "  missing",
                        app.missing.isEmpty
                            ? nil : app.missing.joined(separator: ", ") + ": all products are invalid identifiers"
                    ),
                    ("  revision", "\(app.revision)"),
                ], style)
    }
}
