import StoreReceipts
import StoreWire

/// A transaction as the server API signed it. A server that asks again within a minute of the store's clock gets the
/// same JWS, if the transaction has not changed.
struct KeptSignature: Sendable {
    /// How long it is used, in milliseconds of the store's clock.
    private static let life: Int64 = 60_000

    let transaction: Transaction
    let customer: AppTransactionID?
    let signedDate: Int64
    /// The certificate of the signer, which changes when its addresses do.
    let certificate: [UInt8]?
    let jws: [UInt8]

    /// Whether it says the same as one that would be signed now.
    func isGood(
        for transaction: Transaction, _ customer: AppTransactionID?, at date: Int64, _ identity: JWSIdentity
    ) -> Bool {
        (0..<Self.life).contains(date - signedDate) && self.transaction == transaction && self.customer == customer
            && certificate == identity.certificates.first
    }
}
