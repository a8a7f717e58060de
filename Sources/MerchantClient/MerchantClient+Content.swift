import MerchantWire

/// The content that the merchant delivers.
extension MerchantClient {
    /// The highest version of an item that is on the disk, whole; nil when there is none.
    public nonisolated func newestContent(of item: ContentItemID) -> MerchantContent? {
        library.versions(of: item).last
    }

    /// All versions of an item that are on the disk, lowest first.
    public nonisolated func content(of item: ContentItemID) -> [MerchantContent] { library.versions(of: item) }

    /// How far a download is that was begun and is not done, by this launch or an earlier one; nil when there is none.
    public nonisolated func begunDownload(of item: ContentItemID) -> MerchantDownload? {
        library.begun(item).map {
            MerchantDownload(
                item: item, version: $0.version.version, received: $0.received, total: $0.version.size, secondsLeft: nil
            )
        }
    }

    /// Gets the newest version of an item that the user is entitled to. What is on the disk is not downloaded again, a
    /// download that was broken off goes on where it was, and one that runs is joined. It can be asked at any time, any number
    /// of times: nothing is granted by it.
    ///
    /// When the merchant's books do not have the purchase, the app's receipt is redeemed, and it is tried once more.
    ///
    /// - Throws: ``MerchantClientError``; its reason is `notEntitled` when the user has not bought it.
    @discardableResult
    public func download(_ item: ContentItemID) async throws(MerchantClientError) -> MerchantContent {
        do throws(MerchantClientError) { return try await fetch(item).get() } catch {
            guard error.reason == .notEntitled, let receipt = try? requireAppReceipt() else { throw error }
            guard let answer = try? await redeem(receipt: receipt), answer.redeemed.contains(where: { $0.gives(item) })
            else { throw error }
        }
        return try await fetch(item).get()
    }

    /// Stops the download of an item, if one runs. What came is kept for ``download(_:)``, ``tryAgain()`` or the next launch;
    /// whoever waits for it is told `cancelled`.
    public func pauseDownload(of item: ContentItemID) { stopDownload(of: item) }

    /// The items among those on the disk of which the merchant has a newer version for this user. Get those with
    /// ``download(_:)``.
    ///
    /// - Throws: ``MerchantClientError`` when the merchant cannot be asked; an item that it refuses is left out.
    public func outdated(among items: [ContentItemID]) async throws(MerchantClientError) -> [ContentItemID] {
        var outdated: [ContentItemID] = []
        for item in items {
            guard let held = newestContent(of: item) else { continue }
            do throws(MerchantClientError) {
                let newest: ContentVersion = try await ask(.content(item))
                if newest.version > held.version { outdated.append(item) }
            } catch {
                guard error.code == .refused else { throw error }
            }
        }
        return outdated
    }

    /// Takes a version off the disk. It can be downloaded again.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    public func remove(_ content: MerchantContent) throws(MerchantClientError) {
        try library.remove(content.item, content.version)
    }

    /// Takes all versions but the highest off the disk, and what came of downloads of older ones.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    public func removeOlderVersions(of item: ContentItemID) throws(MerchantClientError) {
        guard let newest = newestContent(of: item) else { return }
        for version in library.known(item) where version < newest.version { try library.remove(item, version) }
    }
}

extension RedeemedTransaction {
    fileprivate func gives(_ item: ContentItemID) -> Bool { !wentToNamedOwner && contentItems.contains(item) }
}
