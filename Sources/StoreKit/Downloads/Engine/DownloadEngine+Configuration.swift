import ContentPackages
import Dispatch
import Foundation
import StoreWire

/// What the downloads do outside of the process beside speaking to the store, so that tests can do it in their own way.
struct DownloadBoundary: Sendable {
    var unpack: ContentUnpacking.Unpack = ContentUnpacking.unpackPackage
    /// Seconds of a clock that only goes forward.
    var now: @Sendable () -> Double = { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
    var mayPass: @Sendable (DownloadStep) -> Bool = { _ in true }
}

extension DownloadEngine {
    /// The downloads of an app on this device, as its journal has them. What belongs to no transaction that waits to be
    /// finished is removed.
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
            configuration.diagnostics("the journal of the downloads cannot be read: \(error)")
        }
        files.clear(keeping: open, keepsContent: configuration.keepsContent)
        for index in entries.indices where entries[index].phase == .finished && !files.hasContent(of: entries[index]) {
            // Somebody cleared the caches.
            entries[index].phase = .waiting
            entries[index].isBegun = false
        }
        // What is unpacked needs its package no longer; a kill may have come between.
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
