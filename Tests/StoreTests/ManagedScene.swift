import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Both stores over one database, with a managed catalog and a clock that stands still.
struct ManagedScene {
    static let bundleID: BundleID = "com.example.managed"

    let managed: ManagedCatalog
    let catalogs: StoreCatalogs
    let sandbox: TestStore
    let production: TestStore
    let clock: TestClock

    /// Opens the stores over databases that have their tables; a second time is a restart.
    static func open(
        _ database: Database, apps: Database, clock: TestClock = TestClock(), files: Catalog = .empty
    ) async throws -> ManagedScene {
        let catalogs = StoreCatalogs(files: files)
        let sandbox = try await TestStore.open(
            database, apps: apps, clock: clock, catalog: catalogs[.sandbox])
        let production = try await TestStore.open(
            database, apps: apps, environment: .production, clock: clock, catalog: catalogs[.production])
        let databases = StoreDatabases(apps: apps, sandbox: database, production: database)
        let managed = try await ManagedCatalog.open(
            databases, apps: production.store.apps, catalogs: catalogs, content: nil, production: production.store,
            files: [])
        return ManagedScene(
            managed: managed, catalogs: catalogs, sandbox: sandbox, production: production, clock: clock)
    }

    func store(_ environment: StoreEnvironment) -> Store {
        environment == .sandbox ? sandbox.store : production.store
    }

    /// Those of the products that a device in the environment finds; the others are invalid identifiers.
    func sold(_ productIDs: ProductID..., in environment: StoreEnvironment) async throws -> [ProductID] {
        let answer = try await store(environment).products(
            ProductsRequest(bundleID: Self.bundleID, productIDs: productIDs, languages: ["en"]), for: nil)
        #expect(answer.products.count + answer.invalidProductIDs.count == productIDs.count)
        return answer.products.map(\.productID)
    }

    /// The name that a device in the environment shows.
    func name(_ productID: ProductID, in environment: StoreEnvironment) async throws -> String? {
        try await store(environment).products(
            ProductsRequest(bundleID: Self.bundleID, productIDs: [productID], languages: ["en"]), for: nil
        ).products.first?.displayName
    }

    @discardableResult
    func register(_ sells: Bool = true) async throws -> ManagedApp {
        try await managed.register(Self.bundleID, name: "Managed", sellsInAppPurchases: sells, by: "anna")
    }

    static func texts(_ name: String) -> JSONValue {
        .array([
            .object([
                "locale": .string("en_US"), "displayName": .string(name), "description": .string("About \(name)."),
            ])
        ])
    }

    /// Creates a product that is Ready to Submit.
    @discardableResult
    func create(_ productID: ProductID, _ kind: ProductKind = .consumable) async throws -> ManagedProduct {
        try await managed.createProduct(
            productID, kind, in: nil, of: Self.bundleID,
            document: .object([
                "displayPrice": .string("0.99"), "localizations": Self.texts("\(productID) one"),
            ]), by: "anna")
    }

    @discardableResult
    func change(_ productID: ProductID, _ keys: [String: JSONValue]) async throws -> ManagedProduct {
        let known = try managed.product(productID, of: Self.bundleID)
        return try await managed.changeProduct(
            productID, of: Self.bundleID, revision: known.revision, keys: .object(keys), by: "anna")
    }

    @discardableResult
    func take(_ step: ManagedStep, _ productID: ProductID) async throws -> ManagedProduct {
        let known = try managed.product(productID, of: Self.bundleID)
        return try await managed.take(
            step, with: productID, of: Self.bundleID, revision: known.revision, by: "rita")
    }

    @discardableResult
    func submit(_ productIDs: ProductID..., appVersion: String? = nil) async throws -> [ManagedProduct] {
        let products = try productIDs.map { ($0, try managed.product($0, of: Self.bundleID).revision) }
        return try await managed.submit(products, of: Self.bundleID, appVersion: appVersion, by: "anna")
    }

    func review(_ rule: ManagedReview) async throws {
        _ = try await managed.changeApp(
            Self.bundleID, revision: try managed.app(Self.bundleID).revision, sellsInAppPurchases: nil, review: rule,
            keys: nil, by: "anna")
    }
}

extension Backend {
    /// Runs a test with both stores and an empty managed catalog.
    func withManaged(
        files: Catalog = .empty, _ body: (ManagedScene) async throws -> Void
    ) async throws {
        try await withTestDatabases { database, apps async throws in
            try await body(try await ManagedScene.open(database, apps: apps, files: files))
        }
    }
}
