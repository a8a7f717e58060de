import Foundation
import StoreWire

/// Where the money is. A processor authorizes an amount before the purchase is recorded, under the purchase's key, so that a crash between the two
/// charges nobody twice; what the ledger has no use for is voided, and what it gave back is refunded, after the ledger was committed.
public protocol PaymentProcessor: Sendable {
    /// Asks for the amount. Called once at least for each purchase that costs something, never inside a database transaction.
    ///
    /// A repeated `idempotencyKey` with the same amount is the same authorization. With another amount it takes the first one's place: between a look
    /// at a purchase and its record the price can change, as when an introductory price was used up; one that is declined then leaves the first as it
    /// is. A key that was voided stays so and is declined.
    /// - Throws: when the processor cannot be asked; the purchase then fails as `unavailable` and may be tried again.
    func authorize(_ payment: PaymentAuthorization) async throws -> PaymentDecision

    /// Gives back whatever is authorized under the key of a purchase that failed or was for nothing, for good. Called after the purchase's answer was
    /// recorded, also when nothing was authorized, and again each time the answer is asked for: a crash in between leaves nothing authorized for
    /// ever. A processor that cannot be reached keeps it, to do it later.
    func void(_ idempotencyKey: UUID) async

    /// Gives back what was paid for a transaction that the ledger shows as refunded. The same `transactionID` again is the same refund and does
    /// nothing more.
    /// - Throws: when the processor cannot be told; whoever ordered the refund is asked to repeat it.
    func refund(_ refund: PaymentRefund) async throws
}

/// What is to be paid, by whom and for what.
public struct PaymentAuthorization: Sendable, Equatable {
    /// The purchase's key. Repeating it with the same amount charges nothing more.
    public var idempotencyKey: UUID
    /// The account that pays.
    public var accountID: AccountID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product being bought.
    public var productID: ProductID
    /// The price for the whole quantity.
    public var amount: Money
}

/// What is to be given back, and of which payment.
public struct PaymentRefund: Sendable, Equatable {
    /// The ledger's transaction, which is refunded once.
    public var transactionID: TransactionID
    /// The key under which the payment was authorized.
    public var idempotencyKey: UUID
    /// The processor's name for the payment.
    public var reference: String
    /// All that was paid.
    public var amount: Money
}

/// What the processor says.
public enum PaymentDecision: Sendable, Equatable {
    /// Authorized; the reference is the processor's name for it.
    case approved(reference: String)
    /// Declined, with a text for the customer.
    case declined(message: String)
}
