import Foundation
import MerchantWire
import StoreWire

/// A product as written in a products file or in a request to the admin API. An unknown key is an error, because a
/// misspelt `lifetime` would grant credits that never expire.
public struct WrittenProduct: Decodable, Sendable {
    /// The product's identifier. Required in a file; in the admin API, the path has it and the body may repeat it.
    public var id: ProductID?
    /// The bundle identifier. A product that was read from the admin API contains it.
    public var bundleID: BundleID?
    /// The product's kind.
    public var kind: ProductKind
    /// The grants of one unit.
    public var grants: [ProductGrant]
    /// Whether apps are offered the product; nil means true.
    public var isOnSale: Bool?
    /// The section of the app's shop that shows the product; nil for no section.
    public var shelf: String?

    /// Reads a product from the body of a request to the admin API.
    /// - Throws: ``MerchantError`` `invalid_request` with the error and its place.
    public init(json: Data) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: json)
        } catch let error as DecodingError {
            throw MerchantError(.invalidRequest, "Invalid product: \(error.placedDescription).")
        }
    }

    private enum Key: String, CodingKey, CaseIterable {
        case id, kind, grants, isOnSale, shelf
        case bundleID = "bundleId"
        case productID = "productId"
    }

    /// Decodes a product. Throws a `DecodingError` for a missing key, an unknown key or an unknown kind.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        try decoder.refuseKeys(otherThan: Key.allCases.map(\.rawValue))
        id =
            try container.decodeIfPresent(ProductID.self, forKey: .id)
            ?? container.decodeIfPresent(ProductID.self, forKey: .productID)
        bundleID = try container.decodeIfPresent(BundleID.self, forKey: .bundleID)
        let kind = try container.decode(String.self, forKey: .kind)
        guard let known = ProductKind(rawValue: kind) else {
            throw DecodingError.dataCorruptedError(
                forKey: .kind, in: container,
                debugDescription: "expected one of \(ProductKind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self.kind = known
        grants = try container.decode([WrittenGrant].self, forKey: .grants).map(\.grant)
        isOnSale = try container.decodeIfPresent(Bool.self, forKey: .isOnSale)
        shelf = try container.decodeIfPresent(String.self, forKey: .shelf)
    }
}

private struct WrittenGrant: Decodable {
    var grant: ProductGrant

    init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(otherThan: ["credits", "currency", "lifetime", "entitlement", "content"])
        grant = try ProductGrant(from: decoder)
    }
}

private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Refuses an object with other keys than the known ones.
    /// - Throws: `DecodingError` with the unknown key.
    func refuseKeys(otherThan known: [String]) throws {
        let container = try container(keyedBy: AnyKey.self)
        guard let unknown = container.allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: codingPath + [unknown],
                debugDescription: "unknown key; expected one of \(known.joined(separator: ", "))"))
    }
}
