import MerchantWire

/// Content items that the merchant delivers.
extension MerchantClient {
    /// Returns the highest complete version of an item on the disk; nil when there is none.
    public nonisolated func newestContent(of item: ContentItemID) -> MerchantContent? {
        library.versions(of: item).last
    }

    /// Returns all complete versions of an item on the disk, lowest first.
    public nonisolated func content(of item: ContentItemID) -> [MerchantContent] { library.versions(of: item) }

    /// Returns the progress of an unfinished download, from this launch or an earlier one; nil when there is none.
    public nonisolated func begunDownload(of item: ContentItemID) -> MerchantDownload? {
        library.begun(item).map {
            MerchantDownload(
                item: item, version: $0.version.version, received: $0.received, total: $0.version.size, secondsLeft: nil
            )
        }
    }

    /// Downloads the newest version of an item to which the user is entitled. A version on the disk is not downloaded
    /// again, an unfinished download is resumed, and a running download is joined. The method may be called at any time
    /// and any number of times, because it grants nothing.
    ///
    /// If the merchant does not know the purchase, the client redeems the app's receipt and tries once more.
    ///
    /// - Throws: ``MerchantClientError``; its reason is `notEntitled` when the user has not bought the item.
    @discardableResult
    public func download(_ item: ContentItemID) async throws(MerchantClientError) -> MerchantContent {
        do throws(MerchantClientError) { return try await fetch(item).get() } catch {
            guard error.reason == .notEntitled, let receipt = try? requireAppReceipt() else { throw error }
            guard let answer = try? await redeem(receipt: receipt), answer.redeemed.contains(where: { $0.gives(item) })
            else { throw error }
        }
        return try await fetch(item).get()
    }

    /// Stops a running download of an item. The received part is kept for ``download(_:)``, ``tryAgain()`` or the next
    /// launch. Callers that wait for the download get the error `cancelled`.
    public func pauseDownload(of item: ContentItemID) { stopDownload(of: item) }

    /// Returns the items on the disk of which the merchant has a newer version for this user, or another file of the
    /// same version. Download them with ``download(_:)``.
    ///
    /// - Throws: ``MerchantClientError`` when the merchant is unreachable. An item that the merchant refuses is left
    ///   out.
    public func outdated(among items: [ContentItemID]) async throws(MerchantClientError) -> [ContentItemID] {
        var outdated: [ContentItemID] = []
        for item in items {
            guard let held = newestContent(of: item) else { continue }
            do throws(MerchantClientError) {
                let newest: ContentVersion = try await ask(.content(item))
                // A merchant restored from a backup may publish another file as the same version.
                let isReplaced = newest.version == held.version && newest.digest != held.digest
                if newest.version > held.version || isReplaced { outdated.append(item) }
            } catch {
                guard error.code == .refused else { throw error }
            }
        }
        return outdated
    }

    /// Removes a version from the disk. It can be downloaded again.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    public func remove(_ content: MerchantContent) throws(MerchantClientError) {
        try library.remove(content.item, content.version)
    }

    /// Removes all versions except the highest from the disk, and unfinished downloads of older ones.
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
