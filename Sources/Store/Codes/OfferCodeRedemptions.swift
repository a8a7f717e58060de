import Database
import StoreWire

/// The redemption of a code for an offer.
struct OfferCodeRedemption: Sendable {
    var accountID: AccountID
    var batch: OfferCodeBatch
    var code: String
    /// The transaction that the code paid; for a subscriber, the one of the period when the code was redeemed.
    var transactionID: TransactionID
    var redeemedAt: Int64

    /// Another redemption has used up the code, or the customer's one redemption of the offer.
    struct Refused: Error {}

    /// Records the redemption, in the database transaction of the purchase.
    /// - Throws: ``Refused``; ``DatabaseError``.
    func record(_ connection: Connection) throws {
        guard try OfferCodeRedemptions.insert(self, connection),
            try batch.customCode != nil || OfferCodes.claim(code, for: accountID, connection),
            try OfferCodeBatches.countRedemption(batch.batchID, at: redeemedAt, connection)
        else { throw Refused() }
    }
}

/// The table `offer_code_redemptions`: one row for each customer and offer.
enum OfferCodeRedemptions {
    /// An account's redemption of an offer: the code, and the transaction.
    static func find(
        _ batch: OfferCodeBatch, by accountID: AccountID, _ connection: Connection
    ) throws -> (code: String, transactionID: TransactionID)? {
        try connection.queryOne(
            """
            SELECT code, transaction_id FROM offer_code_redemptions
            WHERE account_id = $1 AND bundle_id = $2 AND product_id = $3 AND offer = $4
            """, [accountID.rawValue, batch.bundleID.rawValue, batch.productID.rawValue, batch.offer]
        ).map { (try $0.string(0), TransactionID(rawValue: try $0.int64(1))) }
    }

    /// Returns false when the account has redeemed a code of the offer before.
    static func insert(_ redemption: OfferCodeRedemption, _ connection: Connection) throws -> Bool {
        let batch = redemption.batch
        return try connection.execute(
            """
            INSERT INTO offer_code_redemptions (account_id, bundle_id, product_id, offer, batch_id, code,
                transaction_id, redeemed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (account_id, bundle_id, product_id, offer) DO NOTHING
            """,
            [
                redemption.accountID.rawValue, batch.bundleID.rawValue, batch.productID.rawValue, batch.offer,
                batch.batchID, redemption.code, redemption.transactionID.rawValue, redemption.redeemedAt,
            ]) == 1
    }

    /// Deletes an account's redemptions, for a tester's cleared history.
    static func delete(of accountID: AccountID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM offer_code_redemptions WHERE account_id = $1", [accountID.rawValue])
    }
}
