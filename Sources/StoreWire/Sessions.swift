import Foundation

/// Signs a device in. Sent to ``StoreRoute/signIn``.
public struct SignInRequest: Codable, Sendable {
    /// The account's e-mail address.
    public var email: String
    /// The account's password. Secret.
    public var password: String
    /// The device's own id. The device makes it once and keeps it.
    public var deviceID: UUID

    /// Creates a sign-in request.
    public init(email: String, password: String, deviceID: UUID) {
        self.email = email
        self.password = password
        self.deviceID = deviceID
    }

    private enum CodingKeys: String, CodingKey {
        case email, password
        case deviceID = "deviceId"
    }
}

/// The answer to a sign-in: the device's token and its account.
public struct SignInResponse: Codable, Sendable {
    /// The device's token. Secret: the device sends it in the `Authorization: Bearer` header of its requests, and keeps
    /// it in a file of mode 0600.
    public var token: String
    /// The account that is signed in.
    public var account: AccountDescription

    /// Creates a sign-in response.
    public init(token: String, account: AccountDescription) {
        self.token = token
        self.account = account
    }
}

/// The part of an account that its device may know.
public struct AccountDescription: Codable, Sendable, Equatable {
    /// The account's identifier.
    public var accountID: AccountID
    /// The account's e-mail address.
    public var email: String
    /// The storefront where the account buys.
    public var storefront: StorefrontDescription
    /// Whether the account may buy. It is false when the account is restricted.
    public var canMakePayments: Bool

    /// Creates an account description.
    public init(accountID: AccountID, email: String, storefront: StorefrontDescription, canMakePayments: Bool) {
        self.accountID = accountID
        self.email = email
        self.storefront = storefront
        self.canMakePayments = canMakePayments
    }

    private enum CodingKeys: String, CodingKey {
        case accountID = "accountId"
        case email, storefront, canMakePayments
    }
}
