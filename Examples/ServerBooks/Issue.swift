import Foundation
import MerchantClient
import StoreKit

/// An issue of the magazine as it stands on the shelf. The app knows none by name: which there are, and what file each gives,
/// comes from the merchant; title and price come from the store.
public struct Issue {
    /// The identifier that the merchant and the store know it by.
    public let productIdentifier: String
    /// The file that the merchant delivers for it.
    public let item: ContentItemID
    /// What the store says of it; nil when it does not sell it, or cannot be asked.
    public let product: SKProduct?

    /// Nil for a product that gives no file: another app of the same merchant's may sell other things.
    public init?(_ offer: MerchantOffer) {
        self.init(offer.product, product: offer.storeProduct)
    }

    /// The same from the merchant's list alone, without a price.
    public init?(_ listed: MerchantProduct, product: SKProduct? = nil) {
        let items = listed.grants.compactMap { grant in
            if case .content(let item) = grant { item } else { nil }
        }
        guard let item = items.first else { return nil }
        productIdentifier = listed.productID.rawValue
        self.item = item
        self.product = product
    }

    /// What the reader types: the last word of the identifier, such as `issue1`.
    public var name: String { productIdentifier.split(separator: ".").last.map(String.init) ?? productIdentifier }

    /// What the reader reads.
    public var title: String { product?.localizedTitle ?? name }

    /// In the reader's currency; nil while the store does not say.
    public var price: String? {
        guard let product else { return nil }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        return formatter.string(from: product.price) ?? "\(product.price)"
    }
}

/// An issue that is on this device.
public struct IssueText: Sendable {
    /// An issue is a few pages.
    private static let longest: Int64 = 1 << 20

    public let text: String

    /// Reads what was delivered.
    ///
    /// - Throws: an error of Foundation's when it is not what the app's issues are made of.
    public init(_ content: MerchantContent) throws {
        guard content.mediaType.hasPrefix("text/plain") else { throw CocoaError(.fileReadUnknown) }
        guard content.size <= Self.longest else { throw CocoaError(.fileReadTooLarge) }
        text = String(decoding: try Data(contentsOf: content.file), as: UTF8.self)
    }
}
