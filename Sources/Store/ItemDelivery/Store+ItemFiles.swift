import BlobStorage
import Foundation
import StoreWire

extension Store {
    /// The files that the owner of an item gets: the item's own, or those of an album's songs or a season's episodes,
    /// in their order. Files that were delivered before their items left the catalog come last.
    /// - Parameters:
    ///   - items: the items' numbers.
    ///   - storefront: names the files' items in its language.
    ///   - includesFormer: whether the songs and episodes that have left the catalog are listed; false for an account
    ///     that does not own the items.
    /// - Returns: the files by the items' numbers. Items without a file are left out.
    /// - Throws: ``DatabaseError``.
    public func files(
        of items: [Int64], in storefront: Storefront, includesFormer: Bool = true
    ) async throws -> [Int64: [ItemFileDescription]] {
        guard let content else { return [:] }
        let catalog = catalog.value
        let locale = ["\(storefront.language)_\(storefront.regionCode)"]
        let pieces = Dictionary(
            items.map { ($0, catalog.pieces(of: $0)) }, uniquingKeysWith: { first, _ in first })
        let numbers = Set(pieces.values.joined().map(\.number)).union(items)
        let collections = items.filter { includesFormer && (catalog.storeItem($0)?.kind.isCollection ?? true) }
        let (blobs, parts) = try await content.database.read {
            (try ItemBlob.find(numbers.sorted(), $0), try ItemBlob.find(inCollections: collections, $0))
        }
        let former = Dictionary(grouping: parts) { $0.collection ?? 0 }
        var files: [Int64: [ItemFileDescription]] = [:]
        for (item, pieces) in pieces {
            files[item] = pieces.compactMap { piece in
                piece.file.map { file in
                    let blob = blobs[piece.number].flatMap { $0.path == file.path ? $0 : nil }
                    return ItemFileDescription(
                        item: piece.number, title: piece.text(for: locale).name, name: file.name,
                        length: blob?.length ?? file.length, sha256: blob?.digest.hexadecimal)
                }
            }
            // The files of what has left the catalog.
            for blob in (blobs[item].map { [$0] } ?? []) + (former[item] ?? [])
            where catalog.storeItem(blob.item) == nil {
                files[item, default: []].append(
                    ItemFileDescription(
                        item: blob.item, title: blob.name, name: blob.name, length: blob.length,
                        sha256: blob.digest.hexadecimal))
            }
        }
        return files.filter { !$0.value.isEmpty }
    }

    /// Returns the address of an item's file for an account that owns the item, or the album or season that it belongs
    /// to. The first request imports the file into the blob storage.
    /// - Throws: ``StoreError`` `not_owned` (also after a refund), `awaits_approval` when the account has asked for the
    ///   item or its collection, or `no_content`; ``ItemFileProblem``; ``DatabaseError``.
    public func itemFileGrant(_ number: Int64, for account: Account) async throws -> ContentGrant {
        guard let purchase = try await ownedItem(number, by: account) else {
            // The device asks again when the request is decided, wherever it was made.
            if let refusal = try await waitingRequest(for: number, by: account)?.refusal { throw refusal }
            throw StoreError(.notOwned, "The account does not own the item \(number).")
        }
        let missing = StoreError(.noContent, "The item \(number) has no file.")
        guard let content else { throw missing }
        let blob: ItemBlob
        if let item = catalog.value.storeItem(number) {
            guard let file = item.file else { throw missing }
            blob = try await content.blob(of: number, from: file, in: item.place?.collection)
        } else {
            guard let former = try await content.formerBlob(of: number) else { throw missing }
            blob = former
        }
        // Nothing is unpacked. The version tells two files of an item apart.
        return grant(
            CatalogItem.paymentName(number), version: String(blob.digest.hexadecimal.prefix(12)), blob.digest,
            length: blob.length, unpackedLength: 0, for: purchase.transactionID, of: content)
    }
}

extension Catalog {
    /// The item itself, or the contents of an album or season; empty when the catalog does not have the item.
    fileprivate func pieces(of number: Int64) -> [CatalogItem] {
        guard let item = storeItem(number) else { return [] }
        return item.kind.isCollection ? contents(of: number) : [item]
    }
}
