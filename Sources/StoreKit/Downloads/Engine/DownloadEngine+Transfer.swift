import ContentDownloads
import Foundation
import StoreWire

extension DownloadEngine {
    /// The most addresses requested in a row when each of them has expired.
    private static let addressesAtOnce = 3

    /// Downloads and unpacks one download's content, and reports the outcome. It reports nothing after a cancellation.
    func transfer(_ entry: DownloadEntry, run: Int) async {
        var entry = entry
        var isGone = false
        for _ in 0..<Self.addressesAtOnce {
            guard !Task.isCancelled else { return }
            switch await parts.store.grant(for: entry) {
            case .unreachable: return ended(entry.id, run: run, .unreachable)
            case .refused(let failure): return ended(entry.id, run: run, .failed(failure))
            case .granted(let content):
                guard !Task.isCancelled, mayPass(.granted) else { return }
                granted(entry.id, run: run, content)
                entry.version = content.version
                entry.length = content.length
                entry.isBegun = true
                do throws(ContentDownloadError) {
                    try await download(content, entry, run: run)
                } catch {
                    isGone = error.status == 404 || error.status == 410
                    guard error.code != .addressExpired else { continue }
                    if let outcome = DownloadStateMachine.Outcome(error) { ended(entry.id, run: run, outcome) }
                    return
                }
                guard mayPass(.downloaded) else { return }
                let outcome = await ContentUnpacking(
                    files: parts.files, entry: entry, content: content, unpack: parts.unpack, onStep: parts.onStep
                ).run()
                guard let outcome, mayPass(.unpacked) else { return }
                return ended(entry.id, run: run, outcome)
            }
        }
        // The store's addresses expire at once, perhaps because of its clock: retry later. Missing content is a failure
        // that the app must see.
        ended(entry.id, run: run, isGone ? .failed(.contentNotThere) : .unreachable)
    }

    private func download(
        _ content: GrantedContent, _ entry: DownloadEntry, run: Int
    ) async throws(ContentDownloadError) {
        do { try parts.files.prepare(for: entry) } catch {
            throw ContentDownloadError(
                error.isOutOfSpace ? .noSpace : .fileUnusable,
                "cannot create the folder of the app's downloads: \(error.localizedDescription)")
        }
        // Checks the free space first, so that a download never fills the disk completely.
        let missing = content.length - min(parts.files.received(entry), content.length) + content.unpackedLength
        if let free = parts.files.freeSpace, free < missing {
            throw ContentDownloadError(.noSpace, "not enough disk space: \(missing) bytes needed, \(free) free")
        }
        let file = ContentDownload(
            address: content.address, length: content.length, sha256: content.sha256,
            file: parts.files.package(of: entry.id))
        try await file.run { [self] received in progressed(entry.id, run: run, received: received) }
    }
}

extension Error {
    /// Whether the error, or one of its underlying errors, is a full disk.
    var isOutOfSpace: Bool {
        let error = self as NSError
        switch error.domain {
        case NSCocoaErrorDomain where error.code == CocoaError.fileWriteOutOfSpace.rawValue: return true
        case NSPOSIXErrorDomain where [Int(ENOSPC), Int(EDQUOT)].contains(error.code): return true
        default: return (error.userInfo[NSUnderlyingErrorKey] as? any Error)?.isOutOfSpace ?? false
        }
    }
}
