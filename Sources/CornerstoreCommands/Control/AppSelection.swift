import ControlWire
import StoreWire

/// Finds the app of a command.
enum AppSelection {
    /// Returns the bundle id of the app that sells the product.
    /// - Parameter app: the app given on the command line; nil selects the only app that sells the product.
    /// - Throws: ``CommandError`` when no app or several apps sell the product.
    static func bundleID(of product: String, app: String?, _ client: ControlClient) async throws -> String {
        let apps = try await all(client)
        if let app {
            let found = try known(app, in: apps)
            guard sells(product, found) else {
                throw CommandError(
                    .refused, "\(app) has no product \(product). \(products(of: [found], "The app has"))")
            }
            return app
        }
        let sellers = apps.filter { sells(product, $0) }
        guard let seller = sellers.first else {
            throw CommandError(
                .refused, "No app of this store has the product \(product). \(products(of: apps, "There are"))")
        }
        guard sellers.count == 1 else {
            throw CommandError(
                .usage, "Several apps have this product. Choose one with --app: \(list(sellers.map(\.bundleId))).")
        }
        return seller.bundleId
    }

    /// Returns the bundle id of the app given on the command line, or of the only app of the store.
    /// - Throws: ``CommandError`` when the store does not have the app, or has several and none was given.
    static func only(_ app: String?, _ client: ControlClient) async throws -> String {
        let apps = try await all(client)
        if let app { return try known(app, in: apps).bundleId }
        guard apps.count == 1 else {
            throw CommandError(
                .usage, "The store has several apps. Choose one with --app: \(list(apps.map(\.bundleId))).")
        }
        return apps[0].bundleId
    }

    /// Returns the store's apps.
    /// - Throws: ``CommandError`` when there are none.
    private static func all(_ client: ControlClient) async throws -> [ControlAPI.App] {
        let apps: [ControlAPI.App] = try await client.send(.apps)
        guard !apps.isEmpty else {
            throw CommandError(
                .refused,
                "The store has no apps. Register one with “cornerstore app register BUNDLE”, or give “cornerstore serve” a "
                    + "catalog file.")
        }
        return apps
    }

    private static func known(_ app: String, in apps: [ControlAPI.App]) throws -> ControlAPI.App {
        guard let found = apps.first(where: { $0.bundleId.hasSameBytes(as: app) }) else {
            throw CommandError(
                .refused, "The store does not have the app \(app). It has \(list(apps.map(\.bundleId))).")
        }
        return found
    }

    private static func sells(_ product: String, _ app: ControlAPI.App) -> Bool {
        app.productIds.contains { $0.hasSameBytes(as: product) }
    }

    /// Returns a sentence about the products that the apps have.
    /// - Parameter there: the beginning of a sentence about no products.
    private static func products(of apps: [ControlAPI.App], _ there: String) -> String {
        let products = apps.flatMap(\.productIds)
        guard !products.isEmpty else {
            return
                "\(there) no products yet. Create one with “cornerstore product create”, or add it to the catalog file."
        }
        return "The products are \(list(products))."
    }

    private static func list(_ names: [String]) -> String {
        names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
    }
}
