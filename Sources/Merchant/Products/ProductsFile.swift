import Foundation
import MerchantWire
import StoreWire
import Yams

/// The products of one app in a YAML file:
///
///     app: com.example.books
///     products:
///       - id: com.example.books.coins10
///         kind: consumable
///         grants: [{credits: 10, currency: coins}]
///       - id: com.example.books.issue12
///         kind: nonConsumable
///         grants: [{content: issue-12}, {entitlement: reader}]
public struct ProductsFile: Sendable, Equatable {
    /// The most bytes of a file.
    public static let largest = 4 << 20

    public var bundleID: BundleID
    public var products: [MerchantProduct]

    /// Reads a file.
    /// - Throws: ``MerchantError`` `invalid_request` that says what is wrong and where.
    public init(yaml bytes: [UInt8], file: String) throws {
        func refuse(_ what: String) -> MerchantError { MerchantError(.invalidRequest, "\(file): \(what)") }
        guard bytes.count <= Self.largest, let text = String(validating: bytes, as: UTF8.self) else {
            throw refuse("it is not UTF-8, or larger than \(Self.largest) bytes")
        }
        let contents: Contents
        do {
            // Aliases could make a small file a large document.
            guard !text.contains(where: { $0 == "&" || $0 == "*" }) else {
                throw refuse("anchors (&) and aliases (*) are not taken; write the value out")
            }
            contents = try YAMLDecoder().decode(Contents.self, from: text)
        } catch let error as DecodingError {
            throw refuse(error.place)
        } catch let error as YamlError {
            throw refuse("\(error)".replacingOccurrences(of: "\n", with: " "))
        }
        bundleID = contents.app
        products = contents.products.map { product in
            MerchantProduct(
                bundleID: contents.app, productID: product.id, kind: product.kind, grants: product.grants,
                isOnSale: product.isOnSale ?? true, shelf: product.shelf)
        }
        guard products.count <= MerchantLimits.products, Set(products.map(\.productID)).count == products.count else {
            throw refuse("a product is there twice, or there are more than \(MerchantLimits.products)")
        }
        for product in products { try product.check() }
    }

    private struct Contents: Decodable {
        var app: BundleID
        var products: [Product]
    }

    private struct Product: Decodable {
        var id: ProductID
        var kind: ProductKind
        var grants: [ProductGrant]
        var isOnSale: Bool?
        var shelf: String?
    }
}

extension DecodingError {
    /// What was wrong and where, without the values.
    fileprivate var place: String {
        switch self {
        case .keyNotFound(let key, let context): "\(context.path)\(key.stringValue) is missing"
        case .typeMismatch(_, let context): "\(context.path) is of the wrong type"
        case .valueNotFound(_, let context): "\(context.path) is empty"
        case .dataCorrupted(let context): "\(context.path) is not well-formed: \(context.debugDescription.prefix(200))"
        @unknown default: "it is not well-formed"
        }
    }
}

extension DecodingError.Context {
    fileprivate var path: String { codingPath.map { $0.stringValue + "." }.joined() }
}
