import BlobStorage
import Database
import Foundation
import StoreWire

extension Store {
    /// How long the address of a download is valid, in milliseconds. A download that began in time may take longer; one
    /// that broke off needs a new address.
    static let contentAddressLifetime: Int64 = 3600 * 1000

    /// Returns the address from which a transaction's content can be downloaded.
    /// - Throws: ``StoreError`` `unknown_transaction` (also for another account's transaction), `wrong_state` when the
    ///   transaction is finished or revoked, or `no_content`; ``DatabaseError``.
    public func contentGrant(
        _ transactionID: TransactionID, _ request: ContentRequest, for account: Account
    ) async throws -> ContentGrant {
        let found = try await database.read { connection in
            try Transactions.find(transactionID, of: account.accountID, connection)
                ?? RestoredTransactions.find(transactionID, connection)
        }
        guard let transaction = found, transaction.accountID == account.accountID,
            transaction.bundleID == request.bundleID
        else { throw StoreError(.unknownTransaction, "This account has no such transaction in the app.") }
        guard transaction.revokedAt == nil else {
            throw StoreError(.wrongState, "The purchase was refunded; its content cannot be downloaded.")
        }
        guard transaction.finishedAt == nil else {
            throw StoreError(
                .wrongState, "The transaction is finished. Its content can be downloaded after a restore.")
        }
        guard let content, let version = await content.current().version(request.version, of: transaction, environment)
        else {
            throw StoreError(.noContent, "The store has no downloadable content for \(transaction.productID).")
        }
        return grant(
            transaction.productID, version: version.version.text, version.digest, length: version.length,
            unpackedLength: version.unpackedLength, for: transactionID, of: content)
    }

    /// The grant of a blob for a transaction, with an address that expires.
    func grant(
        _ contentID: ProductID, version: String, _ digest: BlobDigest, length: Int64, unpackedLength: Int64,
        for transactionID: TransactionID, of content: ContentLibrary
    ) -> ContentGrant {
        let expires = clock.milliseconds + Self.contentAddressLifetime
        let address = ContentAddress(digest: digest, expires: expires, transactionID: transactionID)
        return ContentGrant(
            contentID: contentID, version: version, length: length, unpackedLength: unpackedLength,
            sha256: digest.hexadecimal,
            url: content.blobs.address(of: digest, seconds: Int(Self.contentAddressLifetime / 1000))
                ?? address.path(environment, content.addressKey), expires: expires)
    }

    /// Resolves an address that ``contentGrant(_:_:for:)`` or ``itemFileGrant(_:for:)`` created.
    /// - Returns: the length in bytes, and the storage to read them from.
    /// - Throws: ``StoreError`` `forbidden` when the signature does not match or the purchase of the item was refunded,
    ///   `address_expired`, or `no_content` when the bytes were removed; ``DatabaseError``.
    public func contentBlob(
        _ digest: BlobDigest, expires: Int64, transactionID: TransactionID, signature: String
    ) async throws -> (length: Int64, blobs: any BlobStore) {
        let address = ContentAddress(digest: digest, expires: expires, transactionID: transactionID)
        guard let content, address.isSigned(by: signature, environment, content.addressKey) else {
            throw StoreError(.forbidden, "This store did not make the address.")
        }
        guard clock.milliseconds < expires else {
            throw StoreError(.addressExpired, "The address has expired. Request a new one.")
        }
        let purchase = try await database.read { try ItemPurchases.find(transactionID, $0) }
        guard purchase?.revokedAt == nil else {
            throw StoreError(.forbidden, "The purchase was refunded; its file cannot be downloaded.")
        }
        guard let length = try await content.mapping({ try await content.blobs.size(of: digest) }) else {
            throw StoreError(.noContent, "The content was removed. Request a new address.")
        }
        return (length, content.blobs)
    }

    // MARK: Descriptions for devices

    /// Adds the downloadable content to a transaction's description.
    func described(_ transaction: TransactionDescription) async -> TransactionDescription {
        await described([transaction]).first ?? transaction
    }

    /// Adds the downloadable content to the descriptions of transactions, with one look-up for all.
    func described(_ transactions: [TransactionDescription]) async -> [TransactionDescription] {
        guard let content, transactions.contains(where: { $0.kind == .nonConsumable }) else { return transactions }
        let shelf = await content.current()
        return transactions.map { transaction in
            guard transaction.kind == .nonConsumable else { return transaction }
            var described = transaction
            described.content =
                shelf.newest(ContentProduct(transaction.productID, of: transaction.bundleID), in: environment)?.hosted
            return described
        }
    }

    /// Adds the downloadable content to the answer to a purchase.
    func described(_ response: PurchaseResponse) async -> PurchaseResponse {
        guard let transaction = response.transaction else { return response }
        var described = response
        described.transaction = await self.described(transaction)
        return described
    }

    /// Adds the downloadable content to the descriptions of products.
    func described(_ products: [ProductDescription], of bundleID: BundleID) async -> [ProductDescription] {
        guard let content, products.contains(where: { $0.kind == .nonConsumable }) else { return products }
        let shelf = await content.current()
        return products.map { product in
            guard product.kind == .nonConsumable else { return product }
            var described = product
            described.content = shelf.newest(ContentProduct(product.productID, of: bundleID), in: environment)?.hosted
            return described
        }
    }
}

extension ContentLibrary.Shelf {
    /// The requested version if devices can download it, else the newest version that they can.
    fileprivate func version(
        _ wanted: String?, of transaction: Transaction, _ environment: StoreEnvironment
    ) -> HostedVersion? {
        guard transaction.kind == .nonConsumable else { return nil }
        let product = ContentProduct(transaction.productID, of: transaction.bundleID)
        let begun = versions[product]?.first {
            $0.version.text == wanted && $0.isDownloadable(in: environment)
        }
        return begun ?? newest(product, in: environment)
    }
}
