import StoreServer
import StoreWire

/// Finds the app that a command is about.
enum Seller {
    /// The one app that sells the product.
    static func find(_ product: String, app: String?, _ client: ControlClient) async throws -> String {
        let apps: [ControlAPI.App] = try await client.get("/apps")
        if let app {
            guard let found = apps.first(where: { $0.bundleId.hasSameBytes(as: app) }) else {
                throw CommandError(
                    .refused, "The store knows no app \(app); it has \(apps.map(\.bundleId).joined(separator: ", ")).")
            }
            guard sells(product, found) else {
                throw CommandError(.refused, "\(app) has no product \(product); it has \(list(found.productIds)).")
            }
            return app
        }
        let sellers = apps.filter { sells(product, $0) }
        guard let seller = sellers.first else {
            throw CommandError(
                .refused,
                "No app of this store has a product \(product); there are \(list(apps.flatMap(\.productIds))).")
        }
        guard sellers.count == 1 else {
            throw CommandError(
                .usage,
                "Several apps have that product; choose with --app one of \(sellers.map(\.bundleId).joined(separator: ", "))."
            )
        }
        return seller.bundleId
    }

    private static func sells(_ product: String, _ app: ControlAPI.App) -> Bool {
        app.productIds.contains { $0.hasSameBytes(as: product) }
    }

    private static func list(_ names: [String]) -> String {
        guard !names.isEmpty else { return "none" }
        return names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
    }
}
