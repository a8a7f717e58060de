import ContentDownloads
import Foundation
import StoreWire

extension DownloadEngine {
    /// New addresses that are asked for in one go when each is said to have expired.
    private static let addressesAtOnce = 3

    /// Gets the content of one download to its place, and says how that ended; nothing when it was stopped.
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
        // The store's clock and its addresses are at odds: perhaps not for long. That what it grants is not there is for the app to know.
        ended(entry.id, run: run, isGone ? .failed(.contentNotThere) : .unreachable)
    }

    private func download(
        _ content: GrantedContent, _ entry: DownloadEntry, run: Int
    ) async throws(ContentDownloadError) {
        do { try parts.files.prepare(for: entry) } catch {
            throw ContentDownloadError(
                error.isOutOfSpace ? .noSpace : .fileUnusable,
                "cannot make the folder of the app's downloads: \(error.localizedDescription)")
        }
        // Not to fill the disk to its last byte first, and the app's and everybody's else with it.
        let missing = content.length - min(parts.files.received(entry), content.length) + content.unpackedLength
        if let free = parts.files.freeSpace, free < missing {
            throw ContentDownloadError(.noSpace, "\(missing) bytes are needed, and \(free) are free")
        }
        let file = ContentDownload(
            address: content.address, length: content.length, sha256: content.sha256,
            file: parts.files.package(of: entry.id))
        try await file.run { [self] received in progressed(entry.id, run: run, received: received) }
    }
}

extension Error {
    /// Whether a full disk is at the bottom of it.
    var isOutOfSpace: Bool {
        let error = self as NSError
        switch error.domain {
        case NSCocoaErrorDomain where error.code == CocoaError.fileWriteOutOfSpace.rawValue: return true
        case NSPOSIXErrorDomain where [Int(ENOSPC), Int(EDQUOT)].contains(error.code): return true
        default: return (error.userInfo[NSUnderlyingErrorKey] as? any Error)?.isOutOfSpace ?? false
        }
    }
}
