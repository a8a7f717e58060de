import Foundation
import Store
import StoreReceipts
import StoreWire

/// The JSON of the control port, which the command line speaks too. Dates are ISO 8601 in UTC with milliseconds.
public enum ControlAPI {
    /// The prefix of every path.
    public static let prefix = "/control/v1"

    /// One app: `GET /control/v1/apps`.
    public struct App: Codable, Sendable, Equatable {
        public var bundleId: String
        public var name: String?
        public var appId: Int64
        /// Secret.
        public var sharedSecret: String
        /// False when the app is in no catalog file any more.
        public var isInCatalog: Bool
        public var productIds: [String]
    }

    /// The store's clock: `GET` and `PUT /control/v1/{environment}/clock`.
    public struct Clock: Codable, Sendable, Equatable {
        public var now: String
        public var milliseconds: Int64
        public var frozen: Bool
        /// Milliseconds ahead of the machine's clock.
        public var offset: Int64
    }

    /// What to do to the clock; carried out in this order: `reset`, `freeze`, `set`, `advance`.
    public struct ClockChange: Codable, Sendable {
        public var reset: Bool?
        /// True stops it, false lets it go on.
        public var freeze: Bool?
        /// ISO 8601.
        public var set: String?
        /// Milliseconds, negative for back.
        public var advance: Int64?

        public init(reset: Bool? = nil, freeze: Bool? = nil, set: String? = nil, advance: Int64? = nil) {
            self.reset = reset
            self.freeze = freeze
            self.set = set
            self.advance = advance
        }
    }

    /// An ordered failure: `GET`, `POST` and `DELETE /control/v1/{environment}/faults`.
    public struct Fault: Codable, Sendable, Equatable {
        public var operation: String
        /// How the request fails: a status, or …
        public var status: Int?
        /// … an error that the device gives to the app: a case of `SKError.Code`, or `SSServerErrorDomain/5020`.
        public var error: String?
        /// … after so many bytes of a download, or …
        public var cutAfter: Int64?
        /// … not at all, but the answer about content says what is not so: `digest` or `length`.
        public var lie: String?
        public var count: Int

        public init(
            operation: String, status: Int? = nil, error: String? = nil, cutAfter: Int64? = nil, lie: String? = nil,
            count: Int
        ) {
            self.operation = operation
            self.status = status
            self.error = error
            self.cutAfter = cutAfter
            self.lie = lie
            self.count = count
        }
    }

    /// When the sandbox's processor declines: `GET`, `POST` and `DELETE /control/v1/{environment}/payment-rules`.
    public struct PaymentRule: Codable, Sendable, Equatable {
        public var name: String
        /// E-mail address.
        public var account: String?
        public var productId: String?
        /// Decline amounts from here on, in milliunits.
        public var minimumAmount: Int64?
        public var count: Int?

        public init(
            name: String, account: String? = nil, productId: String? = nil, minimumAmount: Int64? = nil,
            count: Int? = nil
        ) {
            self.name = name
            self.account = account
            self.productId = productId
            self.minimumAmount = minimumAmount
            self.count = count
        }
    }

    /// An account: `GET /control/v1/{environment}/accounts`.
    public struct Account: Codable, Sendable, Equatable {
        public var accountId: String
        public var email: String
        public var storefront: String
        public var paymentsAllowed: Bool
        public var asksToBuy: Bool
        public var locked: Bool
        public var interruptsPurchases: Bool
    }

    /// A new account: `POST /control/v1/{environment}/accounts`.
    public struct NewAccount: Codable, Sendable {
        public var email: String
        public var password: String
        public var storefront: String?
        public var paymentsAllowed: Bool?
        public var asksToBuy: Bool?

        public init(
            email: String, password: String, storefront: String? = nil, paymentsAllowed: Bool? = nil,
            asksToBuy: Bool? = nil
        ) {
            self.email = email
            self.password = password
            self.storefront = storefront
            self.paymentsAllowed = paymentsAllowed
            self.asksToBuy = asksToBuy
        }
    }

    /// A change of an account: `PATCH /control/v1/{environment}/accounts/{email}`.
    public struct AccountChange: Codable, Sendable {
        public var storefront: String?
        public var paymentsAllowed: Bool?
        public var asksToBuy: Bool?
        public var locked: Bool?
        /// Each purchase fails on the device and waits here until it is resolved.
        public var interruptsPurchases: Bool?

        public init(
            storefront: String? = nil, paymentsAllowed: Bool? = nil, asksToBuy: Bool? = nil, locked: Bool? = nil,
            interruptsPurchases: Bool? = nil
        ) {
            self.storefront = storefront
            self.paymentsAllowed = paymentsAllowed
            self.asksToBuy = asksToBuy
            self.locked = locked
            self.interruptsPurchases = interruptsPurchases
        }
    }

    /// One row of the ledger: `GET /control/v1/{environment}/transactions?before=&bundle=&account=&limit=`, newest first.
    public struct Transaction: Codable, Sendable, Equatable {
        public var transactionId: String
        public var originalTransactionId: String
        public var accountId: String
        public var bundleId: String
        public var productId: String
        public var kind: String
        public var quantity: Int
        /// Decimal, for all of the quantity.
        public var price: String
        public var currency: String
        public var purchaseDate: String
        public var expiresDate: String?
        public var finishedDate: String?
        public var revocationDate: String?
        /// `app` or `other`.
        public var revocationReason: String?
    }

    /// A purchase that waits: `GET /control/v1/{environment}/pending-purchases`; `POST …/{key}/approve` or, of an
    /// interrupted one, `…/resolve`, and `…/decline`.
    public struct PendingPurchase: Codable, Sendable, Equatable {
        /// For whose word.
        public enum Word: String, Codable, Sendable {
            /// Somebody's approval.
            case approval
            /// The customer's, who was interrupted.
            case customer
        }

        public var key: UUID
        public var accountId: String
        public var bundleId: String
        public var productId: String
        public var quantity: Int
        public var createdDate: String
        public var waitsFor: Word
    }
}

extension ControlAPI {
    /// ISO 8601 with milliseconds, in UTC.
    static func text(_ milliseconds: Int64) -> String {
        // Apart, since a style rounds the milliseconds of a floating-point date down by one now and then.
        let (seconds, rest) = (Int64((Double(milliseconds) / 1000).rounded(.down)), (milliseconds % 1000 + 1000) % 1000)
        let date = Date(timeIntervalSince1970: Double(seconds))
        return date.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: false))
            + ".\(String(rest + 1000).dropFirst())Z"
    }

    /// Reads ISO 8601 with or without fractions of a second; nil for a day or a time that there is not. (Foundation takes
    /// 30 February for 2 March.)
    static func milliseconds(_ text: String) -> Int64? { ReceiptDate(rfc3339: text.utf8)?.milliseconds }
}
