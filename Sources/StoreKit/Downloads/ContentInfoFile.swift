import ContentPackages
import Foundation

/// What `ContentInfo.plist` of an unpacked content folder says.
struct ContentInfoFile {
    /// A property list of this size has nothing of ours in it.
    private static let largestFile = 1 << 20

    let productID: String
    let version: ContentVersion

    /// Reads it; nil when it is not there, or does not name a product and a version.
    init?(contentFolder: URL) {
        let file = contentFolder.appendingPathComponent("ContentInfo.plist")
        guard let bytes = BoundedFile.read(file, limit: Self.largestFile),
            let list = try? PropertyListSerialization.propertyList(from: bytes, options: [], format: nil),
            let keys = list as? [String: Any], let product = keys["IAPProductIdentifier"] as? String,
            let version = (keys["ContentVersion"] as? String).flatMap({ ContentVersion($0) })
        else { return nil }
        productID = product
        self.version = version
    }
}
