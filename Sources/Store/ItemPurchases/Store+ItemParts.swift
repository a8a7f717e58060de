import Database
import StoreWire

/// Songs and episodes that were bought while their album or season was being bought.
///
/// The owner of an album owns its songs, so a customer who asks for both at the same moment pays for the album only. If
/// the album is recorded first, the song's request finds it. If the song is recorded first, the album's transaction
/// gives the song back. PostgreSQL runs the two transactions as if one followed the other, because each reads what the
/// other writes; SQLite runs them one after the other.
extension Store {
    /// Gives back the parts of a collection that the account bought since its request for the collection began.
    /// - Parameters:
    ///   - collection: the purchase of the collection, which the same transaction records.
    ///   - began: an identifier that was made when the request began.
    /// - Returns: the purchases whose payments are to be refunded.
    static func giveBackParts(
        of collection: ItemPurchase, boughtSince began: TransactionID, _ catalog: Catalog, _ connection: Connection
    ) throws -> [ItemPurchase] {
        try ItemPurchases.owned(by: collection.accountID, after: began, limit: 1_000, connection).filter { part in
            guard part.price.milliunits > 0, catalog.storeItem(part.item)?.place?.collection == collection.item else {
                return false
            }
            return try ItemPurchases.revoke(
                part.transactionID, at: collection.purchaseDate, reason: .other, connection)
        }
    }

    /// Refunds the payments of parts that were given back. A refund that the processor knows has no effect.
    /// - Throws: ``StoreError`` `unavailable` when the processor could not be reached. The same request again refunds
    ///   them again.
    func refund(_ parts: [ItemPurchase], givenBackBy collection: ItemPurchase) async throws {
        for part in parts {
            do {
                try await processor.refund(part.refund)
            } catch {
                throw StoreError(
                    .unavailable,
                    "The item \(collection.item) was bought. The payment for its part \(part.item), the transaction \(part.transactionID), could not be given back, because the payment processor cannot be reached. Try again."
                )
            }
        }
    }

    /// Repeats the refunds of an earlier answer to the request: the process may have ended before it told the
    /// processor.
    func refundPartsAgain(of collection: ItemPurchase) async throws {
        let catalog = catalog.value
        guard catalog.storeItem(collection.item)?.kind.isCollection == true else { return }
        let parts = try await database.read { try ItemPurchases.revoked(with: collection, $0) }
            .filter { catalog.storeItem($0.item)?.place?.collection == collection.item }
        try await refund(parts, givenBackBy: collection)
    }
}

extension ItemPurchase {
    /// The refund of the payment.
    var refund: PaymentRefund {
        PaymentRefund(
            refundID: transactionID, transactionID: transactionID, idempotencyKey: idempotencyKey,
            reference: paymentReference, amount: price)
    }
}
