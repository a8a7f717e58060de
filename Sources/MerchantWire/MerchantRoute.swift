import StoreWire

/// Every address of the merchant's server; both ends, and the OpenAPI document, are held against it.
public enum MerchantRoute: Sendable, Hashable {
    // An app's, with its user's token.
    case products(BundleID)
    case account
    case redemptions
    case balances(in: StoreEnvironment? = nil)
    case spends
    case history(CurrencyID, before: Int64?, in: StoreEnvironment? = nil)
    case entitlements
    case content(ContentItemID)
    case contentFile(ContentItemID)
    case contentFileByReceipt(ContentItemID)
    // The store's.
    case notifications
    // The merchant's backend's, with an API key.
    case adminProducts
    case putProduct(BundleID, ProductID)
    case deleteProduct(BundleID, ProductID)
    case user(UserID)
    case userHistory(UserID, CurrencyID, before: Int64?, in: StoreEnvironment? = nil)
    case userSpends(UserID)
    case userAdjustments(UserID)
    case adminContent
    case putContent(ContentItemID)
    case checkBooks
    case deadWebhooks
    case replayWebhook(String)
    case testWebhook
    // The operator's.
    case health
    case readiness
    case metrics

    /// An HTTP method.
    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    /// Who may ask.
    public enum Access: Sendable, Hashable {
        /// Anyone; a notification proves itself.
        case open
        /// A user with a token.
        case user
        /// The backend with an API key of that scope.
        case scope(String)
    }

    /// The HTTP method of the route.
    public var method: Method {
        switch self {
        case .products, .account, .balances, .history, .entitlements, .content, .contentFile, .adminProducts, .user,
            .userHistory, .adminContent, .deadWebhooks, .health, .readiness, .metrics:
            .get
        case .redemptions, .spends, .contentFileByReceipt, .notifications, .userSpends, .userAdjustments, .checkBooks,
            .replayWebhook, .testWebhook:
            .post
        case .putProduct, .putContent: .put
        case .deleteProduct: .delete
        }
    }

    /// The credentials that the route requires.
    public var access: Access {
        switch self {
        case .products, .notifications, .health, .readiness, .metrics: .open
        case .account, .redemptions, .balances, .spends, .history, .entitlements, .content, .contentFile,
            .contentFileByReceipt:
            .user
        case .adminProducts, .putProduct, .deleteProduct: .scope("products")
        case .user: .scope("users")
        case .userHistory, .userSpends, .userAdjustments, .checkBooks: .scope("ledger")
        case .adminContent, .putContent: .scope("content")
        case .deadWebhooks, .replayWebhook, .testWebhook: .scope("webhooks")
        }
    }

    /// The path with names in braces where something is put in.
    public var template: String {
        switch self {
        case .products: "/v1/products"
        case .account: "/v1/account"
        case .redemptions: "/v1/redemptions"
        case .balances: "/v1/balances"
        case .spends: "/v1/spends"
        case .history: "/v1/history"
        case .entitlements: "/v1/entitlements"
        case .content: "/v1/content/{item}"
        case .contentFile, .contentFileByReceipt: "/v1/content/{item}/file"
        case .notifications: "/notifications"
        case .adminProducts: "/admin/v1/products"
        case .putProduct, .deleteProduct: "/admin/v1/products/{bundle}/{product}"
        case .user: "/admin/v1/users/{user}"
        case .userHistory: "/admin/v1/users/{user}/history"
        case .userSpends: "/admin/v1/users/{user}/spends"
        case .userAdjustments: "/admin/v1/users/{user}/adjustments"
        case .adminContent: "/admin/v1/content"
        case .putContent: "/admin/v1/content/{item}"
        case .checkBooks: "/admin/v1/books/check"
        case .deadWebhooks: "/admin/v1/webhooks/dead"
        case .replayWebhook: "/admin/v1/webhooks/dead/{event}/replay"
        case .testWebhook: "/admin/v1/webhooks/test"
        case .health: "/health"
        case .readiness: "/ready"
        case .metrics: "/metrics"
        }
    }

    /// The path and query to ask for.
    public var path: String {
        switch self {
        case .products(let bundleID): template + "?bundle=" + bundleID.rawValue.percentEncoded
        case .balances(let environment): template + (environment.map { "?environment=" + $0.rawValue } ?? "")
        case .history(let currency, let before, let environment): template + Self.query(currency, before, environment)
        case .content(let item), .contentFile(let item), .contentFileByReceipt(let item), .putContent(let item):
            template.filled("item", item.rawValue)
        case .putProduct(let bundleID, let productID), .deleteProduct(let bundleID, let productID):
            template.filled("bundle", bundleID.rawValue).filled("product", productID.rawValue)
        case .user(let user), .userSpends(let user), .userAdjustments(let user):
            template.filled("user", user.rawValue)
        case .userHistory(let user, let currency, let before, let environment):
            template.filled("user", user.rawValue) + Self.query(currency, before, environment)
        case .replayWebhook(let event): template.filled("event", event)
        case .account, .redemptions, .spends, .entitlements, .notifications, .adminProducts, .adminContent,
            .checkBooks, .deadWebhooks, .testWebhook, .health, .readiness, .metrics:
            template
        }
    }

    private static func query(
        _ currency: CurrencyID, _ before: Int64?, _ environment: StoreEnvironment?
    ) -> String {
        "?currency=" + currency.rawValue.percentEncoded + (before.map { "&before=\($0)" } ?? "")
            + (environment.map { "&environment=" + $0.rawValue } ?? "")
    }

    /// One of each, with empty names: what the OpenAPI document and the server's routes are compared with.
    public static let all: [MerchantRoute] = [
        .products(""), .account, .redemptions, .balances(), .spends, .history("", before: nil), .entitlements,
        .content(""), .contentFile(""), .contentFileByReceipt(""), .notifications, .adminProducts,
        .putProduct("", ""), .deleteProduct("", ""), .user(""), .userHistory("", "", before: nil), .userSpends(""),
        .userAdjustments(""), .adminContent, .putContent(""), .checkBooks, .deadWebhooks, .replayWebhook(""),
        .testWebhook,
        .health,
        .readiness, .metrics,
    ]
}

extension String {
    /// The template with a name put in, percent-encoded.
    fileprivate func filled(_ name: String, _ value: String) -> String {
        replacing("{\(name)}", with: value.percentEncoded)
    }

    /// The text with all but RFC 3986's unreserved characters percent-encoded.
    fileprivate var percentEncoded: String {
        utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
