import CornerstoreEncoding
import Foundation
import MerchantWire
import StoreWire
import Yams

/// The products of one app, from a YAML file:
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
    /// The largest size of a file in bytes.
    public static let largest = 4 << 20

    /// The app that the file is about.
    public var bundleID: BundleID
    /// The products, in the order of the file.
    public var products: [MerchantProduct]

    /// Reads a file.
    /// - Throws: ``MerchantError`` `invalid_request` with the error and its place.
    public init(yaml bytes: [UInt8], file: String) throws {
        func refuse(_ what: String) -> MerchantError { MerchantError(.invalidRequest, "\(file): \(what)") }
        guard bytes.count <= Self.largest, let text = String(validating: bytes, as: UTF8.self) else {
            throw refuse("the file is not UTF-8 or exceeds \(Self.largest) bytes")
        }
        let contents: Contents
        do {
            if let line = Self.lineOfReference(bytes) {
                throw refuse(
                    "line \(line): a word begins with & or *, which is an anchor or alias of YAML. Neither is supported: "
                        + "write the value instead. Comments and text cannot contain such a word either.")
            }
            contents = try YAMLDecoder().decode(Contents.self, from: text)
        } catch let error as DecodingError {
            throw refuse(error.placedDescription)
        } catch let error as YamlError {
            throw refuse("\(error)".replacingOccurrences(of: "\n", with: " "))
        }
        bundleID = contents.app
        products = try contents.products.enumerated().map { index, product in
            guard let id = product.id, product.bundleID ?? contents.app == contents.app else {
                throw refuse("products[\(index)] has no id or belongs to another app")
            }
            return MerchantProduct(
                bundleID: contents.app, productID: id, kind: product.kind, grants: product.grants,
                isOnSale: product.isOnSale ?? true, shelf: product.shelf)
        }
        guard products.count <= MerchantLimits.products else {
            throw refuse("the file has more than \(MerchantLimits.products) products")
        }
        var seen: Set<ProductID> = []
        for product in products where !seen.insert(product.productID).inserted {
            throw refuse("product \(product.productID) is listed twice")
        }
        for product in products { try product.check() }
    }

    /// Finds an anchor or alias, which could make a small file a large document. It begins a word, so `A & B` and
    /// `R&D` contain none. A word in a comment or in quotes is not told apart.
    /// - Returns: the line number of the first anchor or alias, from 1; nil when the file has neither.
    private static func lineOfReference(_ bytes: [UInt8]) -> Int? {
        let inWord = ASCIICharacters.alphanumeric.adding("\"'")
        let found = bytes.indices.first { index in
            guard bytes[index] == UInt8(ascii: "&") || bytes[index] == UInt8(ascii: "*") else { return false }
            let endsWord = index + 1 == bytes.count || [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index + 1])
            return !endsWord && (index == 0 || !inWord.contains(bytes[index - 1]))
        }
        return found.map { index in bytes[..<index].count { $0 == 0x0A } + 1 }
    }

    private struct Contents: Decodable {
        var app: BundleID
        var products: [WrittenProduct]

        private enum Key: String, CodingKey, CaseIterable {
            case app, products
        }

        init(from decoder: any Decoder) throws {
            try decoder.refuseKeys(otherThan: Key.allCases.map(\.rawValue))
            let container = try decoder.container(keyedBy: Key.self)
            app = try container.decode(BundleID.self, forKey: .app)
            products = try container.decode([WrittenProduct].self, forKey: .products)
        }
    }
}
