import Foundation
import StoreWire

/// A payment processor.
///
/// The store authorizes an amount under the purchase's key before it records the purchase, so that a crash between the
/// two charges nobody twice. After the ledger has committed, the store voids authorizations that it does not use and
/// refunds payments that it gave back.
public protocol PaymentProcessor: Sendable {
    /// Authorizes an amount. The store calls this at least once for each purchase that costs something, never inside a
    /// database transaction.
    ///
    /// A repeated `idempotencyKey` with the same amount is the same authorization. With another amount it replaces the
    /// earlier authorization, because the price can change before the purchase is recorded, for example when an
    /// introductory price was used up. If the new amount is declined, the earlier authorization stays. A voided key
    /// stays voided, and further authorizations under it are declined.
    /// - Throws: an error when the processor cannot be reached. The purchase then fails as `unavailable` and can be
    ///   repeated. A `DatabaseError` is one of the store's database.
    func authorize(_ payment: PaymentAuthorization) async throws -> PaymentDecision

    /// Permanently voids the authorization under the key of a purchase that failed or was free.
    ///
    /// The store calls this after it has recorded the purchase's answer, also when nothing was authorized, and again
    /// each time a client repeats the request. A crash in between therefore leaves no authorization behind. If the
    /// processor cannot be reached, the implementation must void the key later.
    func void(_ idempotencyKey: UUID) async

    /// Refunds a payment, or a part of it, that the ledger shows as refunded. A repeated `refundID` is the same refund
    /// and has no further effect. A refund that was reversed stays one: its reversal is a payment of its own.
    /// - Throws: an error when the processor cannot be reached. The store repeats the refund of an app's product each
    ///   minute; that of a storefront's item, the operator is asked to repeat.
    func refund(_ refund: PaymentRefund) async throws
}

/// A payment to authorize.
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

/// A payment to refund.
public struct PaymentRefund: Sendable, Equatable {
    /// The refund's identifier, unique in the store.
    public var refundID: TransactionID
    /// The transaction to refund. A change of plan refunds a part of it, and a later refund the rest. After a reversal,
    /// the refund of a transaction can be one refund of each of its payments.
    public var transactionID: TransactionID
    /// The key under which the payment was authorized.
    public var idempotencyKey: UUID
    /// The processor's identifier of the payment.
    public var reference: String
    /// The amount to refund. All refunds of a payment together are at most what was paid.
    public var amount: Money
}

/// The processor's decision about a payment.
public enum PaymentDecision: Sendable, Equatable {
    /// The amount is authorized; the reference is the processor's identifier of the payment.
    case approved(reference: String)
    /// The payment is declined, with a message for the customer.
    case declined(message: String)
}
