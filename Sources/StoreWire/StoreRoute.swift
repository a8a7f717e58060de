import CornerstoreEncoding

/// The device's requests to the store. Both ends use this table: the server routes by ``template``, and the client
/// requests ``path``.
public enum StoreRoute: Sendable, Equatable {
    /// Signs the device in: ``SignInRequest``, answered with ``SignInResponse``.
    case signIn
    /// Signs the device out and revokes its token.
    case signOut
    /// Gets the account that is signed in: ``AccountDescription``.
    case account
    /// Describes products: ``ProductsRequest``, answered with ``ProductsResponse``.
    case products
    /// Buys a product: ``PurchaseRequest``, answered with ``PurchaseResponse``.
    case purchases
    /// Lists the transactions that the device has not finished: ``UnfinishedTransactionsResponse``.
    case unfinishedTransactions(BundleID, after: TransactionID?)
    /// Lists the unfinished transactions that the store itself made: ``UnfinishedTransactionsResponse``.
    case arrivedTransactions(BundleID, after: TransactionID?)
    /// Finishes a transaction.
    case finish(TransactionID)
    /// Restores purchases: ``RestoreRequest``, answered with ``RestoreResponse``.
    case restores
    /// Makes an app receipt: ``AppReceiptRequest``, answered with DER.
    case appReceipt
    /// Makes the iOS 6 receipt of a transaction: ``TransactionReceiptRequest``, answered with a property list.
    case transactionReceipt(TransactionID)
    /// Verifies a receipt for the app's server.
    case verifyReceipt
    /// Gets the changes since the cursor `after`: ``NoticesResponse``.
    case notices(BundleID, after: Int64?, languages: [String])
    /// Gets marks of what waits for the app, after waiting up to `wait` seconds until they differ from `since`:
    /// ``NewsMarks``.
    case news(BundleID, since: NewsMarks?, wait: Int)
    /// Claims a promoted purchase: ``PromotionRequest``.
    case promotions
    /// Answers a price increase: ``PriceConsentRequest``.
    case priceConsents
    /// Redeems a code: ``CodeRedemptionRequest``.
    case redemptions
    /// Grants the download of a transaction's hosted content: ``ContentRequest``, answered with ``ContentGrant``.
    case content(TransactionID)
    /// Describes a transaction of the account whose refund the customer can request: ``RefundableTransaction``.
    case refundable(TransactionID, in: BundleID)
    /// Requests the refund of a transaction as the customer: ``RefundRequestMessage``.
    case requestRefund(TransactionID)
    /// Gets the account's own review of an app: ``ReviewResponse``.
    case review(BundleID)
    /// Rates or reviews an app: ``ReviewRequest``, answered with ``ReviewResponse``.
    case writeReview
    /// Opens the page of an item for the customer: ``VisitRequest``, answered with ``VisitDescription``.
    case openVisit
    /// Gets the state of a visit, after waiting up to `wait` seconds for its end: ``VisitState``.
    case visit(String, wait: Int?)
    /// Rates or reviews the item of a visit: ``VisitReviewRequest``, answered with ``ReviewResponse``.
    case reviewVisit(String)
    /// Lists the items that the account owns: ``LibraryResponse``.
    case library(after: TransactionID?)
    /// Buys an item: ``ItemPurchaseMessage``, answered with ``OwnedItem``.
    case buyItem
    /// Grants the download of an owned item's file: ``ContentGrant``.
    case itemFile(Int64)
    /// Lists the account's subscriptions, of one app or of all: ``SubscriptionsResponse``.
    case subscriptions(BundleID?, after: TransactionID?)
    /// Turns the renewal of a subscription on or off: ``RenewalRequest``, answered with ``ManagedSubscription``.
    case setRenewal(TransactionID)
    /// Changes the plan of a subscription: ``PlanChangeRequest``, answered with ``PurchaseResponse``.
    case changePlan(TransactionID)
    /// Opens the page where the customer manages subscriptions: ``SubscriptionsPageRequest``, answered with
    /// ``SubscriptionsPageDescription``.
    case openSubscriptions

    /// The HTTP method of the request.
    public var method: RouteMethod {
        switch self {
        case .account, .unfinishedTransactions, .arrivedTransactions, .notices, .news, .review, .visit, .library,
            .subscriptions, .refundable:
            .get
        case .signIn, .products, .purchases, .finish, .restores, .appReceipt, .transactionReceipt, .verifyReceipt,
            .promotions, .priceConsents, .redemptions, .content, .writeReview,
            .openVisit, .reviewVisit, .buyItem, .itemFile, .setRenewal, .changePlan, .openSubscriptions,
            .requestRefund:
            .post
        case .signOut: .delete
        }
    }

    /// The path, with `{id}` in place of an id or an item's number.
    public var template: String {
        switch self {
        case .signIn, .signOut: "/device/v1/session"
        case .account: "/device/v1/account"
        case .products: "/device/v1/products"
        case .purchases: "/device/v1/purchases"
        case .unfinishedTransactions: "/device/v1/transactions/unfinished"
        case .arrivedTransactions: "/device/v1/transactions/arrived"
        case .finish: "/device/v1/transactions/{id}/finish"
        case .restores: "/device/v1/restores"
        case .appReceipt: "/device/v1/receipt"
        case .transactionReceipt: "/device/v1/transactions/{id}/receipt"
        case .verifyReceipt: "/verifyReceipt"
        case .notices: "/device/v1/notices"
        case .news: "/device/v1/news"
        case .promotions: "/device/v1/promotions"
        case .priceConsents: "/device/v1/price-consents"
        case .redemptions: "/device/v1/redemptions"
        case .content: "/device/v1/transactions/{id}/content"
        case .refundable, .requestRefund: "/device/v1/transactions/{id}/refund"
        case .review, .writeReview: "/device/v1/review"
        case .openVisit: "/device/v1/visits"
        case .visit: "/device/v1/visits/{id}"
        case .reviewVisit: "/device/v1/visits/{id}/review"
        case .library, .buyItem: "/device/v1/items"
        case .itemFile: "/device/v1/items/{id}/file"
        case .subscriptions: "/device/v1/subscriptions"
        case .setRenewal: "/device/v1/subscriptions/{id}/renewal"
        case .changePlan: "/device/v1/subscriptions/{id}/plan"
        case .openSubscriptions: "/device/v1/subscriptions/page"
        }
    }

    /// The path and query of the request.
    public var path: String {
        switch self {
        case .finish(let id), .transactionReceipt(let id), .content(let id), .setRenewal(let id), .changePlan(let id),
            .requestRefund(let id):
            return template.replacing("{id}", with: id.description)
        case .refundable(let id, let bundleID):
            return template.replacing("{id}", with: id.description) + "?bundle=" + bundleID.rawValue.percentEncoded
        case .itemFile(let item):
            return template.replacing("{id}", with: String(item))
        case .review(let bundleID):
            return template + "?bundle=" + bundleID.rawValue.percentEncoded
        case .reviewVisit(let id):
            return template.replacing("{id}", with: id.percentEncoded)
        case .visit(let id, let wait):
            return template.replacing("{id}", with: id.percentEncoded) + (wait.map { "?wait=\($0)" } ?? "")
        case .library(let after):
            return template + (after.map { "?after=\($0)" } ?? "")
        case .subscriptions(let bundleID, let after):
            let query = [bundleID.map { "bundle=" + $0.rawValue.percentEncoded }, after.map { "after=\($0)" }]
                .compactMap(\.self)
            return template + (query.isEmpty ? "" : "?") + query.joined(separator: "&")
        case .unfinishedTransactions(let bundleID, let after), .arrivedTransactions(let bundleID, let after):
            let query = "?bundle=" + bundleID.rawValue.percentEncoded
            return template + query + (after.map { "&after=\($0)" } ?? "")
        case .notices(let bundleID, let after, let languages):
            let query = "?bundle=" + bundleID.rawValue.percentEncoded + (after.map { "&after=\($0)" } ?? "")
            let tags = languages.map(\.percentEncoded).joined(separator: ",")
            return template + query + (tags.isEmpty ? "" : "&languages=" + tags)
        case .news(let bundleID, let since, let wait):
            let marks = since.map {
                "&transactions=" + $0.transactions.percentEncoded + "&notices=" + $0.notices.percentEncoded
            }
            return template + "?bundle=" + bundleID.rawValue.percentEncoded + (marks ?? "") + "&wait=\(wait)"
        default:
            return template
        }
    }
}
