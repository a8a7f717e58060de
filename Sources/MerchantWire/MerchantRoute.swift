import CornerstoreEncoding
import StoreWire

/// The routes of the merchant's server. The server, the client and the OpenAPI document are tested against this list.
public enum MerchantRoute: Sendable, Hashable {
    // Routes for apps, with the user's token.
    /// GET: the products on sale in an app.
    case products(BundleID)
    /// GET: the user's name and account token.
    case account
    /// POST: redeems a receipt or a signed transaction.
    case redemptions
    /// GET: the user's balances.
    case balances(in: StoreEnvironment? = nil)
    /// POST: spends the user's credits.
    case spends
    /// GET: a page of the user's ledger entries.
    case history(CurrencyID, before: Int64?, in: StoreEnvironment? = nil)
    /// GET: the user's entitlements.
    case entitlements
    /// GET: the newest version of a content item.
    case content(ContentItemID)
    /// GET: the file of a content item, for a user who is entitled to it.
    case contentFile(ContentItemID)
    /// POST: the file of a content item, for a purchase that is not redeemed yet.
    case contentFileByReceipt(ContentItemID)
    // The route for the store.
    /// POST: an App Store Server Notification.
    case notifications
    // Routes for the merchant's backend, with an API key.
    /// GET: all products, on sale or not.
    case adminProducts
    /// PUT: adds or changes a product.
    case putProduct(BundleID, ProductID)
    /// DELETE: removes a product.
    case deleteProduct(BundleID, ProductID)
    /// GET: a page of the users whose names start with a text, by name.
    case users(startingWith: String = "", after: UserID? = nil, limit: Int? = nil)
    /// GET: a user's balances, entitlements and flags.
    case user(UserID)
    /// GET: a page of the purchases that a user has redeemed, newest first.
    case userRedemptions(UserID, before: String? = nil, limit: Int? = nil)
    /// GET: a page of a user's ledger entries.
    case userHistory(UserID, CurrencyID, before: Int64?, in: StoreEnvironment? = nil)
    /// POST: spends a user's credits.
    case userSpends(UserID)
    /// POST: adds or removes a user's credits.
    case userAdjustments(UserID)
    /// GET: a page of the purchases that all users have redeemed, by the purchase's key, the highest first.
    case adminRedemptions(before: String? = nil, limit: Int? = nil)
    /// GET: a page of the notifications from stores, the last received first.
    case adminNotifications(before: String? = nil, limit: Int? = nil)
    /// GET: the redemptions and ledger entries of a store's transaction.
    case transaction(String, original: String? = nil, bundle: BundleID? = nil)
    /// GET: a user's consent to send consumption information to the store.
    case consumptionConsent(UserID)
    /// PUT: records that a user gives or withdraws the consent.
    case setConsumptionConsent(UserID)
    /// POST: asks the store about subscriptions whose notifications may have been lost.
    case sweep
    /// GET: the newest version of every content item.
    case adminContent
    /// PUT: uploads a version of a content item.
    case putContent(ContentItemID)
    /// POST: checks the ledger.
    case checkBooks
    /// GET: a page of the events, of all states and purchases or of one, newest first.
    case webhookEvents(
        state: WebhookState? = nil, purchase: String? = nil, before: String? = nil, limit: Int? = nil)
    /// GET: an event with its body and the attempts to deliver it.
    case webhookEvent(String)
    /// POST: sends an event again, whatever its state.
    case resendWebhook(String)
    /// GET: the events that could not be delivered.
    case deadWebhooks
    /// POST: delivers an event again.
    case replayWebhook(String)
    /// POST: sends a test event.
    case testWebhook
    /// GET: the API keys, without their secrets.
    case apiKeys
    /// POST: makes an API key.
    case makeAPIKey
    /// DELETE: revokes an API key.
    case revokeAPIKey(String)
    /// GET: the server's settings.
    case settings
    // Routes for the operator.
    /// GET: whether the server runs.
    case health
    /// GET: whether the server can answer requests.
    case readiness
    /// GET: the server's metrics in Prometheus's text format.
    case metrics

    /// The credentials that a route requires.
    public enum Access: Sendable, Hashable {
        /// None. The signature of a notification authenticates it.
        case open
        /// A user's token.
        case user
        /// An API key of the backend with this scope.
        case scope(String)
    }

    /// The HTTP method of the route.
    public var method: RouteMethod {
        switch self {
        case .products, .account, .balances, .history, .entitlements, .content, .contentFile, .adminProducts, .user,
            .users, .userRedemptions, .adminRedemptions, .adminNotifications, .transaction, .userHistory, .adminContent,
            .consumptionConsent, .webhookEvents, .webhookEvent, .deadWebhooks, .apiKeys, .settings, .health,
            .readiness, .metrics:
            .get
        case .redemptions, .spends, .contentFileByReceipt, .notifications, .userSpends, .userAdjustments, .checkBooks,
            .replayWebhook, .resendWebhook, .testWebhook, .makeAPIKey, .sweep:
            .post
        case .putProduct, .putContent, .setConsumptionConsent: .put
        case .deleteProduct, .revokeAPIKey: .delete
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
        case .users, .user, .userRedemptions, .adminRedemptions, .adminNotifications, .transaction,
            .consumptionConsent, .setConsumptionConsent, .sweep:
            .scope("users")
        case .userHistory, .userSpends, .userAdjustments, .checkBooks: .scope("ledger")
        case .adminContent, .putContent: .scope("content")
        case .webhookEvents, .webhookEvent, .resendWebhook, .deadWebhooks, .replayWebhook, .testWebhook:
            .scope("webhooks")
        case .apiKeys, .makeAPIKey, .revokeAPIKey: .scope("keys")
        case .settings: .scope("settings")
        }
    }

    /// The path, with parameter names in braces, as in OpenAPI.
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
        case .users: "/admin/v1/users"
        case .user: "/admin/v1/users/{user}"
        case .userRedemptions: "/admin/v1/users/{user}/redemptions"
        case .adminRedemptions: "/admin/v1/redemptions"
        case .adminNotifications: "/admin/v1/notifications"
        case .transaction: "/admin/v1/transactions/{transaction}"
        case .userHistory: "/admin/v1/users/{user}/history"
        case .userSpends: "/admin/v1/users/{user}/spends"
        case .userAdjustments: "/admin/v1/users/{user}/adjustments"
        case .consumptionConsent, .setConsumptionConsent: "/admin/v1/users/{user}/consumption-consent"
        case .sweep: "/admin/v1/subscriptions/sweep"
        case .adminContent: "/admin/v1/content"
        case .putContent: "/admin/v1/content/{item}"
        case .checkBooks: "/admin/v1/books/check"
        case .webhookEvents: "/admin/v1/webhooks/events"
        case .webhookEvent: "/admin/v1/webhooks/events/{event}"
        case .resendWebhook: "/admin/v1/webhooks/events/{event}/send"
        case .deadWebhooks: "/admin/v1/webhooks/dead"
        case .replayWebhook: "/admin/v1/webhooks/dead/{event}/replay"
        case .testWebhook: "/admin/v1/webhooks/test"
        case .apiKeys, .makeAPIKey: "/admin/v1/keys"
        case .revokeAPIKey: "/admin/v1/keys/{key}"
        case .settings: "/admin/v1/settings"
        case .health: "/health"
        case .readiness: "/ready"
        case .metrics: "/metrics"
        }
    }

    /// The path and query of a request.
    public var path: String {
        switch self {
        case .products(let bundleID): template + "?bundle=" + bundleID.rawValue.percentEncoded
        case .balances(let environment): template + (environment.map { "?environment=" + $0.rawValue } ?? "")
        case .history(let currency, let before, let environment): template + Self.query(currency, before, environment)
        case .content(let item), .contentFile(let item), .contentFileByReceipt(let item), .putContent(let item):
            template.filled("item", item.rawValue)
        case .putProduct(let bundleID, let productID), .deleteProduct(let bundleID, let productID):
            template.filled("bundle", bundleID.rawValue).filled("product", productID.rawValue)
        case .user(let user), .userSpends(let user), .userAdjustments(let user), .consumptionConsent(let user),
            .setConsumptionConsent(let user):
            template.filled("user", user.rawValue)
        case .userHistory(let user, let currency, let before, let environment):
            template.filled("user", user.rawValue) + Self.query(currency, before, environment)
        case .users(let start, let after, let limit):
            template + Self.query([("start", start.isEmpty ? nil : start), ("after", after?.rawValue)], limit)
        case .userRedemptions(let user, let before, let limit):
            template.filled("user", user.rawValue) + Self.query([("before", before)], limit)
        case .adminRedemptions(let before, let limit), .adminNotifications(let before, let limit):
            template + Self.query([("before", before)], limit)
        case .transaction(let id, let original, let bundle):
            template.filled("transaction", id)
                + Self.query([("original", original), ("bundle", bundle?.rawValue)], nil)
        case .webhookEvents(let state, let purchase, let before, let limit):
            template + Self.query([("state", state?.rawValue), ("purchase", purchase), ("before", before)], limit)
        case .replayWebhook(let event), .webhookEvent(let event), .resendWebhook(let event):
            template.filled("event", event)
        case .revokeAPIKey(let name): template.filled("key", name)
        case .account, .redemptions, .spends, .entitlements, .notifications, .adminProducts, .adminContent,
            .checkBooks, .deadWebhooks, .testWebhook, .apiKeys, .makeAPIKey, .settings, .health, .readiness,
            .metrics, .sweep:
            template
        }
    }

    private static func query(
        _ currency: CurrencyID, _ before: Int64?, _ environment: StoreEnvironment?
    ) -> String {
        "?currency=" + currency.rawValue.percentEncoded + (before.map { "&before=\($0)" } ?? "")
            + (environment.map { "&environment=" + $0.rawValue } ?? "")
    }

    /// The query of a list, with the parameters that have a value.
    private static func query(_ parameters: [(String, String?)], _ limit: Int?) -> String {
        let parts = (parameters + [("limit", limit.map { String($0) })]).compactMap { name, value in
            value.map { name + "=" + $0.percentEncoded }
        }
        return parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
    }

    /// One route of each case, with empty parameters. Tests compare the OpenAPI document and the server's routes with
    /// it.
    public static let all: [MerchantRoute] = [
        .products(""), .account, .redemptions, .balances(), .spends, .history("", before: nil), .entitlements,
        .content(""), .contentFile(""), .contentFileByReceipt(""), .notifications, .adminProducts,
        .putProduct("", ""), .deleteProduct("", ""), .users(), .user(""), .userRedemptions(""),
        .userHistory("", "", before: nil), .userSpends(""), .userAdjustments(""), .adminRedemptions(),
        .adminNotifications(), .transaction(""), .consumptionConsent(""), .setConsumptionConsent(""), .sweep,
        .adminContent, .putContent(""), .checkBooks, .webhookEvents(),
        .webhookEvent(""), .resendWebhook(""), .deadWebhooks, .replayWebhook(""), .testWebhook, .apiKeys, .makeAPIKey,
        .revokeAPIKey(""), .settings, .health, .readiness, .metrics,
    ]
}

extension String {
    /// The template with one parameter replaced by its percent-encoded value.
    fileprivate func filled(_ name: String, _ value: String) -> String {
        replacing("{\(name)}", with: value.percentEncoded)
    }
}
