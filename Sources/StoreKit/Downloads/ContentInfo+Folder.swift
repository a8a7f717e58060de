import ContentPackages
import Foundation

extension ContentInfo {
    /// A property list of this size has nothing of ours in it.
    private static var largestFile: Int { 1 << 20 }

    /// What the `ContentInfo.plist` of an unpacked content folder says; nil when it is not there, or names no product and
    /// version.
    init?(contentFolder: URL) {
        let file = contentFolder.appendingPathComponent(Self.fileName)
        guard let bytes = BoundedFile.read(file, limit: Self.largestFile),
            let info = try? ContentInfo(propertyList: bytes)
        else { return nil }
        self = info
    }
}
