import Foundation

/// The contents of `ContentInfo.plist` at the root of hosted content.
public struct ContentInfo: Sendable, Hashable {
    /// The key of ``productID``. (Some books print `IAPProductionIdentifier`, which is a misprint.)
    public static let productKey = "IAPProductIdentifier"
    /// The key of ``version``.
    public static let versionKey = "ContentVersion"
    /// The file's name.
    public static let fileName = "ContentInfo.plist"

    /// The product that the content belongs to.
    public var productID: String
    /// The content's version.
    public var version: ContentVersion
    /// The other keys. The store keeps them and does not read them.
    public var otherKeys: [String: PropertyListValue]

    /// Creates the contents of the property list.
    public init(productID: String, version: ContentVersion, otherKeys: [String: PropertyListValue] = [:]) {
        self.productID = productID
        self.version = version
        self.otherKeys = otherKeys
    }

    /// Reads a property list in XML or in the binary format.
    ///
    /// - Throws: ``ContentPackageError`` with a finding for every key that is missing or wrong.
    public init(propertyList data: Data) throws {
        switch Reading(data) {
        case .read(let info): self = info
        case .wrong(let findings): throw ContentPackageError(refused: findings)
        }
    }

    /// The property list in XML. The same keys give the same bytes.
    /// - Throws: ``ContentPackageError`` when a value cannot be written.
    public func propertyList() throws -> Data {
        var keys = otherKeys.mapValues(\.foundationValue)
        keys[Self.productKey] = productID
        keys[Self.versionKey] = version.text
        do {
            return try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
        } catch {
            throw ContentPackageError(
                .unwritable, "\(Self.fileName) cannot be written: a property list cannot contain one of the values.")
        }
    }
}

extension ContentInfo {
    /// The result of reading a property list.
    enum Reading {
        case read(ContentInfo)
        case wrong([ContentFinding])

        init(_ data: Data) {
            guard !BinaryPropertyList.isRefused([UInt8](data)),
                let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
                case .dictionary(let keys)? = PropertyListValue(foundationValue: list)
            else {
                self = .wrong([
                    ContentFinding(
                        .infoKeys, path: fileName, "The file is not a property list with a dictionary.",
                        "Write it as an XML property list with \(productKey) and \(versionKey).")
                ])
                return
            }
            var findings: [ContentFinding] = []
            let product = Self.productID(keys, &findings)
            let version = Self.version(keys, &findings)
            guard let product, let version else {
                self = .wrong(findings)
                return
            }
            let others = keys.filter { $0.key != productKey && $0.key != versionKey }
            self = .read(ContentInfo(productID: product, version: version, otherKeys: others))
        }

        private static func productID(
            _ keys: [String: PropertyListValue], _ findings: inout [ContentFinding]
        ) -> String? {
            switch keys[productKey] {
            case .string(let text)? where isProductID(text): return text
            case nil where keys["IAPProductionIdentifier"] != nil:
                findings.append(
                    ContentFinding(
                        .infoKeys, path: fileName, "The key IAPProductionIdentifier is a misprint of some books.",
                        "Call the key \(productKey)."))
            case nil:
                findings.append(
                    ContentFinding(
                        .infoKeys, path: fileName, "\(productKey) is missing.", "Add it, with the whole product id."))
            default:
                findings.append(
                    ContentFinding(
                        .infoKeys, path: fileName, "\(productKey) is not a product id.",
                        "Give it as a string of at most 255 letters, digits, full stops, hyphens and underscores."))
            }
            return nil
        }

        private static func version(
            _ keys: [String: PropertyListValue], _ findings: inout [ContentFinding]
        ) -> ContentVersion? {
            switch keys[versionKey] {
            case .string(let text)?:
                if let version = ContentVersion(text) { return version }
                findings.append(
                    ContentFinding(
                        .infoKeys, path: fileName, "\(versionKey) is not a version.",
                        "Give it as numbers joined by full stops, such as 1.0."))
            case nil:
                findings.append(
                    ContentFinding(.infoKeys, path: fileName, "\(versionKey) is missing.", "Add it, such as 1.0."))
            default:
                findings.append(
                    ContentFinding(
                        .infoKeys, path: fileName, "\(versionKey) is not a string.",
                        "Give it as a string such as 1.0: as a number, 1.10 is 1.1."))
            }
            return nil
        }
    }

    /// Whether the text has 1 to 255 characters, each a letter, a digit, `.`, `_` or `-`. These are the characters that
    /// App Store Connect accepts, and the hyphen.
    public static func isProductID(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
