import ContentDownloads
import Foundation
import MerchantWire
import Synchronization

/// Downloads content items from the merchant.
struct ContentFetcher: Sendable {
    let session: MerchantSession
    let library: ContentLibrary
    let slots: DownloadSlots
    let onProgress: @Sendable (MerchantDownload) -> Void

    /// Downloads the newest version of an item. Returns at once when it is on the disk, and resumes an unfinished
    /// download.
    ///
    /// - Throws: ``MerchantClientError``.
    func fetch(_ item: ContentItemID) async throws(MerchantClientError) -> MerchantContent {
        guard await slots.take() else {
            throw MerchantClientError(.cancelled, "the download was paused before it began")
        }
        let result: Result<MerchantContent, MerchantClientError>
        do throws(MerchantClientError) { result = .success(try await whileHoldingSlot(item)) } catch {
            result = .failure(error)
        }
        await slots.give()
        return try result.get()
    }

    private func whileHoldingSlot(_ item: ContentItemID) async throws(MerchantClientError) -> MerchantContent {
        let version = try await newest(item)
        do throws(MerchantClientError) { return try await download(version) } catch {
            // The merchant may have published a newer version, with other bytes, since it described this one.
            guard error.code == .wrongContent else { throw error }
            let newer = try await newest(item)
            guard newer != version else { throw error }
            return try await download(newer)
        }
    }

    private func newest(_ item: ContentItemID) async throws(MerchantClientError) -> ContentVersion {
        let version: ContentVersion = try await session.ask(.content(item))
        guard version.item == item else {
            throw MerchantClientError(.badAnswer, "the merchant described a different content item than requested")
        }
        return version
    }

    private func download(_ version: ContentVersion) async throws(MerchantClientError) -> MerchantContent {
        if let held = library.held(version.item, version.version), held.digest == version.digest { return held }
        let file = try library.prepare(version)
        guard let address = session.transport.address(of: .contentFile(version.item)) else {
            throw MerchantClientError(.notConfigured, "the merchant's address is not an http or https URL")
        }
        let report = onProgress
        try await session.withToken { token throws(MerchantClientError) in
            let rate = Mutex<TransferRate?>(nil)
            let started = ContinuousClock.now
            let transfer = ContentDownload(
                address: address, length: version.size, sha256: version.digest, file: file,
                authorization: "Bearer \(token)")
            do throws(ContentDownloadError) {
                try await transfer.run { received in
                    let seconds = Double((ContinuousClock.now - started) / .seconds(1))
                    let left: Double? = rate.withLock { rate in
                        var current = rate ?? TransferRate(total: version.size, done: received, at: seconds)
                        current.advance(to: received, at: seconds)
                        rate = current
                        return current.timeRemaining
                    }
                    report(
                        MerchantDownload(
                            item: version.item, version: version.version, received: received, total: version.size,
                            secondsLeft: left))
                }
            } catch {
                // A refused file has no error of the merchant. Requesting the description again yields the merchant's
                // own refusal, if there is one.
                if error.code == .addressExpired { _ = try await newest(version.item) }
                throw MerchantClientError(error)
            }
        }
        library.removeUnfinished(of: version.item, before: version.version)
        return MerchantContent(version, file: file)
    }
}
