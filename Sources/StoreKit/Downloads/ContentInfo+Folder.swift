import ContentPackages
import Foundation

extension ContentInfo {
    /// The size limit of `ContentInfo.plist` in bytes.
    private static var largestFile: Int { 1 << 20 }

    /// Reads the `ContentInfo.plist` of an unpacked content folder; nil when the file is missing, larger than
    /// 1 MiB or damaged, or has no valid product and version.
    init?(contentFolder: URL) {
        let file = contentFolder.appendingPathComponent(Self.fileName)
        guard let bytes = BoundedFile.read(file, limit: Self.largestFile),
            let info = try? ContentInfo(propertyList: bytes)
        else { return nil }
        self = info
    }
}
