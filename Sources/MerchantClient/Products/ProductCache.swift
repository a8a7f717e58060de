import Foundation
import MerchantWire
import StoreKit

/// The last product list, as it came.
struct ProductCache: Sendable {
    private static let largest = MerchantTransport.largestAnswer + (1 << 16)

    struct Kept: Codable, Sendable, Equatable {
        /// Whose list it is: the merchant's address and the app.
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

    /// A list that cannot be kept is asked for again.
    func write(_ list: ProductList, entityTag: String?) {
        guard let bytes = try? JSONEncoder().encode(Kept(source: source, entityTag: entityTag, list: list)) else {
            return
        }
        try? BoundedFile.write(bytes, to: file)
    }
}

/// The merchant's product list as an app has it.
public struct MerchantProducts: Sendable, Equatable {
    /// What is on sale, in the merchant's order.
    public var products: [MerchantProduct]
    /// Nil when the merchant has just given or confirmed the list; else why it could not, and the list is the last one
    /// that came.
    public var problem: MerchantClientError?

    /// Creates a product list.
    public init(products: [MerchantProduct], problem: MerchantClientError?) {
        self.products = products
        self.problem = problem
    }
}
