import Database
import StoreWire

/// The part of the catalog that a change was about, as the detail of the announcements `managed` and `content`. Other
/// processes read this part again. An app can have 100,000 products, which take long to read.
enum ManagedPart: Equatable {
    /// All apps and the checklist.
    case everything
    /// The checklist of agreement, tax and bank details.
    case checklist
    /// An app with all its products.
    case app(BundleID)
    /// An app without its products, and some of these, which may be new or deleted.
    case products([ProductID], of: BundleID)

    /// The first word of a detail.
    private enum Kind: String {
        case checklist, app, products
    }

    /// A product.
    init(_ product: ContentProduct) { self = .products([product.productID], of: product.bundleID) }

    /// The words of the detail, with a space between two. Bundle and product identifiers have no spaces. The whole app
    /// stands for products whose identifiers do not fit.
    var detail: String {
        switch self {
        case .everything: return ""
        case .checklist: return Kind.checklist.rawValue
        case .app(let bundleID): return "\(Kind.app.rawValue) \(bundleID.rawValue)"
        case .products(let productIDs, let bundleID):
            let words = [Kind.products.rawValue, bundleID.rawValue] + productIDs.map(\.rawValue)
            let text = words.joined(separator: " ")
            return text.utf8.count <= Announcement.longestDetail ? text : Self.app(bundleID).detail
        }
    }

    /// Reads a detail. An unknown one is about everything.
    init(detail: String) {
        let words = detail.split(separator: " ").map(String.init)
        let bundleID = words.count > 1 ? BundleID(words[1]) : nil
        switch (words.first.flatMap(Kind.init(rawValue:)), bundleID) {
        case (.checklist?, nil): self = .checklist
        case (.app?, let bundleID?): self = .app(bundleID)
        case (.products?, let bundleID?):
            self = .products(words.dropFirst(2).map { ProductID($0) }, of: bundleID)
        default: self = .everything
        }
    }
}
