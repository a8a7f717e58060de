import Foundation

/// Signs a device in. Sent to ``StoreRoute/signIn``.
public struct SignInRequest: Codable, Sendable {
    public var email: String
    public var password: String
    /// The device's own id, made once and kept.
    public var deviceID: UUID

    public init(email: String, password: String, deviceID: UUID) {
        self.email = email
        self.password = password
        self.deviceID = deviceID
    }
}

/// The account that a device shops with.
public struct SignInResponse: Codable, Sendable {
    /// Secret: it goes into the `Authorization: Bearer` header of what this device asks, and into a file of mode 0600.
    public var token: String
    public var account: AccountDescription

    public init(token: String, account: AccountDescription) {
        self.token = token
        self.account = account
    }
}

/// What the device may know of its account.
public struct AccountDescription: Codable, Sendable, Equatable {
    public var accountID: AccountID
    public var email: String
    public var storefront: StorefrontDescription
    /// False when the account is restricted from buying.
    public var canMakePayments: Bool

    public init(accountID: AccountID, email: String, storefront: StorefrontDescription, canMakePayments: Bool) {
        self.accountID = accountID
        self.email = email
        self.storefront = storefront
        self.canMakePayments = canMakePayments
    }
}
