import Foundation
import StoreWire

/// Where the money is. A processor authorizes an amount before the purchase is recorded; a repeated `idempotencyKey` is the same authorization, so
/// that a crash between the two charges nobody twice.
public protocol PaymentProcessor: Sendable {
    /// Asks for the amount. Called once at least for each purchase, never inside a database transaction.
    /// - Throws: when the processor cannot be asked; the purchase then fails as `unavailable` and may be tried again.
    func authorize(_ payment: PaymentAuthorization) async throws -> PaymentDecision

    /// Gives back an authorization that the purchase did not come to use.
    func void(reference: String) async
}

/// What is to be paid, by whom and for what.
public struct PaymentAuthorization: Sendable, Equatable {
    public var idempotencyKey: UUID
    public var accountID: AccountID
    public var bundleID: BundleID
    public var productID: ProductID
    public var amount: Money
}

/// What the processor says.
public enum PaymentDecision: Sendable, Equatable {
    /// Authorized; the reference is the processor's name for it.
    case approved(reference: String)
    /// Declined, with a text for the customer.
    case declined(message: String)
}
