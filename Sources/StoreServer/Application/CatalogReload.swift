import Logging
import ServiceLifecycle
import Store

/// Checks the catalog files once a second and loads a changed one. A file that has become invalid leaves the old
/// catalog in place, and the log names the problem.
struct CatalogReload: Service {
    var watcher: CatalogWatcher
    let catalogs: StoreCatalogs
    let logger: Logger
    /// The operator's information about the files; nil when nobody asks.
    let news: CatalogNews?
    /// Called with the new catalog before it replaces the old one.
    let prepare: @Sendable (Catalog) async throws -> Void
    private var waiting: (catalog: Catalog, notes: [String])?
    /// The error of an invalid file, which may only be half written. It is logged when the file is unchanged at the
    /// next check.
    private var suspicion: CatalogError?

    init(
        watcher: CatalogWatcher, catalogs: StoreCatalogs, logger: Logger, news: CatalogNews? = nil,
        prepare: @escaping @Sendable (Catalog) async throws -> Void
    ) {
        self.watcher = watcher
        self.catalogs = catalogs
        self.logger = logger
        self.news = news
        self.prepare = prepare
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var reload = self
            while (try? await Task.sleep(for: .seconds(1))) != nil { await reload.look() }
        }
    }

    /// Loads the files when one changed since the last check. A valid catalog that could not be prepared because the
    /// database was unavailable is tried again.
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
            try catalogs.check(new, in: watcher.files)
            try await prepare(new)
            waiting = nil
            try catalogs.replaceFiles(with: new, in: watcher.files)
            news?.loaded(notes: notes)
            logger.notice("catalog reloaded", metadata: ["apps": "\(new.apps.count)", "notes": "\(notes)"])
        } catch {
            // Another attempt would find the same problem in the file.
            if error is CatalogError { waiting = nil }
            report(error)
        }
    }

    private func report(_ error: any Error) {
        news?.failed(error)
        logger.error("catalog not reloaded, the old one stays in use", metadata: ["problem": "\(error)"])
    }
}
