import ContentPackages
import Dispatch
import Foundation
import StoreWire

/// The effects of the downloads outside the process, other than requests to the store. Tests replace them.
struct DownloadBoundary: Sendable {
    var unpack: ContentUnpacking.Unpack = ContentUnpacking.unpackPackage
    /// The seconds of a monotonic clock.
    var now: @Sendable () -> Double = { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
    var mayPass: @Sendable (DownloadStep) -> Bool = { _ in true }
}

extension DownloadEngine {
    /// Loads an app's downloads from its journal. It removes the downloads and files of transactions that the app has
    /// finished.
    ///
    /// - Throws: ``DeviceError`` when the journal cannot be read.
    convenience init(
        _ configuration: StoreKitConfiguration, journal: any DownloadJournal, transactions: [PaymentQueueEntry],
        store: any ContentStore, caches: URL, timer: any RetryTimer, backoff: Backoff, _ boundary: DownloadBoundary
    ) {
        let files = DownloadFiles(
            folder: caches.appendingPathComponent(configuration.environment.name, isDirectory: true))
        let open = Set(
            transactions.compactMap { $0.phase == .finishing ? nil : $0.transaction?.transactionID })
        var entries: [DownloadEntry] = []
        do {
            let journaled = try journal.loadDownloads()
            entries = journaled.filter { open.contains($0.id) }
            let gone = journaled.map(\.id).filter { !open.contains($0) }
            if !gone.isEmpty { try journal.forget(downloads: gone) }
        } catch {
            configuration.diagnostics("cannot read the journal of the downloads: \(error)")
        }
        files.clear(keeping: open, keepsContent: configuration.keepsContent)
        for index in entries.indices where entries[index].phase == .finished && !files.hasContent(of: entries[index]) {
            // The caches were cleared.
            entries[index].phase = .waiting
            entries[index].isBegun = false
        }
        // A finished download needs no package. A kill may have prevented its removal.
        for entry in entries where entry.phase == .finished { files.discardPackage(of: entry.id) }
        self.init(
            Parts(
                journal: journal, store: store, files: files, unpack: boundary.unpack, timer: timer, backoff: backoff,
                places: configuration.simultaneousDownloads, diagnostics: configuration.diagnostics,
                languages: configuration.languages, now: boundary.now, mayPass: boundary.mayPass,
                onStep: configuration.onDownloadStep),
            journal: entries)
    }
}
