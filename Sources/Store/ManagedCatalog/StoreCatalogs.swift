import StoreWire
import Synchronization

/// The managed apps, as the stores' catalogs need them.
struct ManagedShelf: Sendable {
    var apps: [BundleID: ManagedApp] = [:]
    /// Whether a required item of the checklist is missing, so that nothing is sold.
    var isClosed = false
}

/// The catalogs of a server: the apps of the catalog files and the managed apps, as each environment sells them. The
/// numbers of apps and products are the same in all of them.
public final class StoreCatalogs: Sendable {
    private struct Sources {
        var files: Catalog
        var managed = ManagedShelf()
    }

    /// Every app and product, also products that no environment sells yet, with their newest texts.
    public let all: CurrentCatalog
    private let sandbox: CurrentCatalog
    private let production: CurrentCatalog
    private let sources: Mutex<Sources>

    /// Holds the catalog of the files.
    public init(files: Catalog) {
        sources = Mutex(Sources(files: files))
        all = CurrentCatalog(files)
        sandbox = CurrentCatalog(files)
        production = CurrentCatalog(files)
    }

    /// The catalog that an environment sells.
    public subscript(environment: StoreEnvironment) -> CurrentCatalog {
        environment == .sandbox ? sandbox : production
    }

    /// The catalog of the files.
    public var files: Catalog { sources.withLock { $0.files } }

    /// Checks that no file describes a managed app.
    /// - Throws: ``CatalogError`` `duplicateApp` that names the file and the app.
    public func check(_ files: Catalog, in list: [CatalogFile]) throws(CatalogError) {
        let managed = sources.withLock { $0.managed }
        try Self.check(files, managed, list)
    }

    /// Replaces the catalog of the files.
    /// - Throws: ``CatalogError`` when a file describes a managed app. The catalogs are then unchanged.
    public func replaceFiles(with new: Catalog, in list: [CatalogFile] = []) throws(CatalogError) {
        try sources.withLock { sources throws(CatalogError) in
            try Self.check(new, sources.managed, list)
            sources.files = new
            publish(sources)
        }
    }

    /// Replaces the managed apps. An app that a file describes as well, because another process with other files has
    /// registered it, stays as the file describes it (``doublyDescribed``).
    func replaceManaged(with new: ManagedShelf) {
        sources.withLock { sources in
            sources.managed = new
            publish(sources)
        }
    }

    /// The managed apps that a file describes as well.
    public var doublyDescribed: [BundleID] {
        sources.withLock { sources in sources.managed.apps.keys.filter { sources.files.app($0) != nil } }.sorted()
    }

    /// Replaces all catalogs. The caller holds the lock, so that the last change is the last in each.
    private func publish(_ sources: Sources) {
        var managed = sources.managed
        managed.apps = managed.apps.filter { sources.files.app($0.key) == nil }
        let joined = sources.files.joined(with: managed.apps.values.map(\.whole))
        sandbox.replace(with: Self.sold(joined, managed, in: .sandbox))
        production.replace(with: Self.sold(joined, managed, in: .production))
        all.replace(with: joined)
    }

    private static func check(
        _ files: Catalog, _ managed: ManagedShelf, _ list: [CatalogFile]
    ) throws(CatalogError) {
        let both = managed.apps.keys.filter { files.app($0) != nil }.sorted()
        guard !both.isEmpty else { return }
        throw CatalogError(
            code: .duplicateApp,
            problems: both.map { bundleID in
                CatalogProblem(
                    file: CatalogFile.describing(bundleID, in: list) ?? "catalog", line: nil, column: nil, keyPath: "",
                    message:
                        "describes the app \(bundleID), which the store manages already (“cornerstore product list”); "
                        + "remove the app from the file, or give it another bundle id")
            })
    }

    /// The catalog with those products of managed apps that an environment sells.
    private static func sold(_ catalog: Catalog, _ managed: ManagedShelf, in environment: StoreEnvironment) -> Catalog {
        guard !managed.apps.isEmpty else { return catalog }
        return catalog.changingApps { app in
            guard let managedApp = managed.apps[app.bundleID] else { return app }
            guard managedApp.sellsInAppPurchases, !managed.isClosed else { return app.selling([]) }
            let sold = Dictionary(
                managedApp.products.compactMap { $0.product(in: environment) }.map { ($0.productID, $0) },
                uniquingKeysWith: { first, _ in first })
            return app.selling(
                app.products.compactMap { product in
                    guard var shown = sold[product.productID] else { return nil }
                    shown.itemID = product.itemID
                    return shown
                })
        }
    }
}

extension CatalogFile {
    /// The path of the file that describes an app; nil when none of the files can be read and does.
    static func describing(_ bundleID: BundleID, in files: [CatalogFile]) -> String? {
        files.first { file in
            (try? file.read())?.apps.contains { $0.bundleID == bundleID } ?? false
        }?.path
    }
}
