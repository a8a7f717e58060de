import Foundation
import MerchantClient
import StoreKit

/// An issue of the magazine on the shelf. The app contains no list of issues: the merchant lists the issues and their
/// content items, and the store provides titles and prices.
public struct Issue {
    /// The product identifier at the merchant and the store.
    public let productIdentifier: String
    /// The content item that the merchant delivers for the product.
    public let item: ContentItemID
    /// The store's product; nil when the store does not sell it or does not answer.
    public let product: SKProduct?

    /// Creates the issue of an offer; nil for a product that grants no content item.
    public init?(_ offer: MerchantOffer) {
        self.init(offer.product, product: offer.storeProduct)
    }

    /// Creates the issue of a product on the merchant's list; nil for a product that grants no content item.
    public init?(_ listed: MerchantProduct, product: SKProduct? = nil) {
        let items = listed.grants.compactMap { grant in
            if case .content(let item) = grant { item } else { nil }
        }
        guard let item = items.first else { return nil }
        productIdentifier = listed.productID.rawValue
        self.item = item
        self.product = product
    }

    /// The name that the reader types: the last part of the identifier, such as `issue1`.
    public var name: String { productIdentifier.split(separator: ".").last.map(String.init) ?? productIdentifier }

    /// The title for the reader.
    public var title: String { product?.localizedTitle ?? name }

    /// The price in the store's currency; nil while it is not known.
    public var price: String? {
        guard let product else { return nil }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        return formatter.string(from: product.price) ?? "\(product.price)"
    }
}

/// The text of an issue on this device.
public struct IssueText: Sendable {
    /// The maximum length of an issue in bytes.
    private static let longest: Int64 = 1 << 20

    /// The issue's text.
    public let text: String

    /// Reads a delivered issue.
    ///
    /// - Throws: an error of Foundation when the content is not a text or too long.
    public init(_ content: MerchantContent) throws {
        guard content.mediaType.hasPrefix("text/plain") else { throw CocoaError(.fileReadUnknown) }
        guard content.size <= Self.longest else { throw CocoaError(.fileReadTooLarge) }
        text = String(decoding: try Data(contentsOf: content.file), as: UTF8.self)
    }
}
