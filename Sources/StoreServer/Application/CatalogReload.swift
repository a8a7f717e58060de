import Logging
import ServiceLifecycle
import Store

/// Looks once a second whether a catalog file changed, and takes it in. A file that has become bad leaves the old catalog in place and is told of in
/// the log.
struct CatalogReload: Service {
    var watcher: CatalogWatcher
    let catalog: CurrentCatalog
    let logger: Logger
    /// Called with the new catalog before it takes the old one's place.
    let prepare: @Sendable (Catalog) async throws -> Void
    private var waiting: (catalog: Catalog, notes: [String])?
    /// A bad file may only be half written: it is told of when it is the same at the next look.
    private var suspicion: CatalogError?

    init(
        watcher: CatalogWatcher, catalog: CurrentCatalog, logger: Logger,
        prepare: @escaping @Sendable (Catalog) async throws -> Void
    ) {
        self.watcher = watcher
        self.catalog = catalog
        self.logger = logger
        self.prepare = prepare
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var reload = self
            while (try? await Task.sleep(for: .seconds(1))) != nil { await reload.look() }
        }
    }

    /// Takes the files in if one changed since the last look. A good catalog that could not be prepared, since the database was away, is tried again.
    mutating func look() async {
        switch watcher.reload() {
        case .unchanged:
            if let error = suspicion { report(error) }
            suspicion = nil
        case .failed(let error):
            waiting = nil
            suspicion = error
        case .loaded(let new, let notes):
            suspicion = nil
            waiting = (new, notes)
        }
        guard let (new, notes) = waiting else { return }
        do {
            try await prepare(new)
            waiting = nil
            catalog.replace(with: new)
            logger.notice("catalog taken in again", metadata: ["apps": "\(new.apps.count)", "notes": "\(notes)"])
        } catch {
            report(error)
        }
    }

    private func report(_ error: any Error) {
        logger.error("catalog file not taken in, the old one stays", metadata: ["problem": "\(error)"])
    }
}
