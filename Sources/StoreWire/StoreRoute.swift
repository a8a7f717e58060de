/// The device's requests to the store, one table for both ends: ``template`` is what the server routes by, ``path`` what the client asks for.
public enum StoreRoute: Sendable, Equatable {
    case signIn
    case signOut
    case account
    case products
    case purchases
    case unfinishedTransactions(BundleID, after: TransactionID?)
    case finish(TransactionID)
    case restores
    case appReceipt
    case transactionReceipt(TransactionID)
    case verifyReceipt
    case notices(BundleID, after: Int64?, languages: [String])
    case promotions
    case priceConsents
    case redemptions
    case content(TransactionID)

    public enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    public var method: Method {
        switch self {
        case .account, .unfinishedTransactions, .notices: .get
        case .signIn, .products, .purchases, .finish, .restores, .appReceipt, .transactionReceipt, .verifyReceipt,
            .promotions, .priceConsents, .redemptions, .content:
            .post
        case .signOut: .delete
        }
    }

    /// The path with `{id}` where a transaction's id stands.
    public var template: String {
        switch self {
        case .signIn, .signOut: "/device/v1/session"
        case .account: "/device/v1/account"
        case .products: "/device/v1/products"
        case .purchases: "/device/v1/purchases"
        case .unfinishedTransactions: "/device/v1/transactions/unfinished"
        case .finish: "/device/v1/transactions/{id}/finish"
        case .restores: "/device/v1/restores"
        case .appReceipt: "/device/v1/receipt"
        case .transactionReceipt: "/device/v1/transactions/{id}/receipt"
        case .verifyReceipt: "/verifyReceipt"
        case .notices: "/device/v1/notices"
        case .promotions: "/device/v1/promotions"
        case .priceConsents: "/device/v1/price-consents"
        case .redemptions: "/device/v1/redemptions"
        case .content: "/device/v1/transactions/{id}/content"
        }
    }

    /// The path and query to ask for.
    public var path: String {
        switch self {
        case .finish(let id), .transactionReceipt(let id), .content(let id):
            return template.replacing("{id}", with: id.description)
        case .unfinishedTransactions(let bundleID, let after):
            let query = "?bundle=" + bundleID.rawValue.percentEncoded
            return template + query + (after.map { "&after=\($0)" } ?? "")
        case .notices(let bundleID, let after, let languages):
            let query = "?bundle=" + bundleID.rawValue.percentEncoded + (after.map { "&after=\($0)" } ?? "")
            let tags = languages.map(\.percentEncoded).joined(separator: ",")
            return template + query + (tags.isEmpty ? "" : "&languages=" + tags)
        default:
            return template
        }
    }
}

extension String {
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
