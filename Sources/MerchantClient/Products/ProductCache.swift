import Foundation
import MerchantWire
import StoreKit

/// The last product list, as received.
struct ProductCache: Sendable {
    private static let largest = MerchantTransport.largestAnswer + (1 << 16)

    struct Kept: Codable, Sendable, Equatable {
        /// The merchant's address and the app that the list belongs to.
        var source: String
        var entityTag: String?
        var list: ProductList
    }

    let file: URL
    let source: String

    func read() -> Kept? {
        guard let bytes = BoundedFile.read(file, limit: Self.largest),
            let kept = try? JSONDecoder().decode(Kept.self, from: bytes), kept.source == source
        else { return nil }
        return kept
    }

    /// A list that cannot be saved is requested again.
    func write(_ list: ProductList, entityTag: String?) {
        guard let bytes = try? JSONEncoder().encode(Kept(source: source, entityTag: entityTag, list: list)) else {
            return
        }
        try? BoundedFile.write(bytes, to: file)
    }
}

/// A product list, with the error if the client could not refresh it.
public struct MerchantProducts: Sendable, Equatable {
    /// The products on sale, in the merchant's order.
    public var products: [MerchantProduct]
    /// Nil when the merchant has just sent or confirmed the list. Otherwise the error of the request, and the list is
    /// the last one received.
    public var problem: MerchantClientError?

    /// Creates a product list.
    public init(products: [MerchantProduct], problem: MerchantClientError?) {
        self.products = products
        self.problem = problem
    }
}
