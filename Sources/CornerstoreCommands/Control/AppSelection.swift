import ControlWire
import StoreWire

/// Finds the app of a command's product.
enum AppSelection {
    /// Returns the bundle id of the app that sells the product.
    /// - Parameter app: the app given on the command line; nil selects the only app that sells the product.
    /// - Throws: ``CommandError`` when no app or several apps sell the product.
    static func bundleID(of product: String, app: String?, _ client: ControlClient) async throws -> String {
        let apps: [ControlAPI.App] = try await client.send(.apps)
        if let app {
            guard let found = apps.first(where: { $0.bundleId.hasSameBytes(as: app) }) else {
                throw CommandError(
                    .refused,
                    "The store does not have the app \(app). It has \(apps.map(\.bundleId).joined(separator: ", ")).")
            }
            guard sells(product, found) else {
                throw CommandError(.refused, "\(app) has no product \(product). It has \(list(found.productIds)).")
            }
            return app
        }
        let sellers = apps.filter { sells(product, $0) }
        guard let seller = sellers.first else {
            throw CommandError(
                .refused,
                "No app of this store has the product \(product). The products are \(list(apps.flatMap(\.productIds)))."
            )
        }
        guard sellers.count == 1 else {
            throw CommandError(
                .usage,
                "Several apps have this product. Choose one with --app: \(sellers.map(\.bundleId).joined(separator: ", "))."
            )
        }
        return seller.bundleId
    }

    /// Returns the bundle id of the app given on the command line, or of the only app of the store.
    /// - Throws: ``CommandError`` when the store does not have the app, or has several and none was given.
    static func only(_ app: String?, _ client: ControlClient) async throws -> String {
        let apps: [ControlAPI.App] = try await client.send(.apps)
        let all = apps.map(\.bundleId).joined(separator: ", ")
        if let app {
            guard apps.contains(where: { $0.bundleId.hasSameBytes(as: app) }) else {
                throw CommandError(.refused, "The store does not have the app \(app). It has \(all).")
            }
            return app
        }
        guard apps.count == 1 else {
            throw CommandError(
                .usage, apps.isEmpty ? "The store has no app." : "Choose one of the store's apps with --app: \(all).")
        }
        return apps[0].bundleId
    }

    private static func sells(_ product: String, _ app: ControlAPI.App) -> Bool {
        app.productIds.contains { $0.hasSameBytes(as: product) }
    }

    private static func list(_ names: [String]) -> String {
        guard !names.isEmpty else { return "none" }
        return names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
    }
}
