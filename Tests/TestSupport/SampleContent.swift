import ContentPackages
import Foundation

/// Packages of hosted content for tests.
public enum SampleContent {
    /// A package of one text.
    public static func package(_ product: String, _ version: String, text: String = "Once upon a time.") throws
        -> [UInt8]
    {
        try package(product, version, Array(text.utf8))
    }

    /// A package of so many bytes and a few, which are always the same and do not compress.
    public static func package(_ product: String, _ version: String, size: Int) throws -> [UInt8] {
        try package(product, version, bytes(size))
    }

    /// The bytes of such a package's `Contents/chapter.txt`.
    public static func bytes(_ count: Int) -> [UInt8] {
        var state: UInt32 = 7
        return (0..<count).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(truncatingIfNeeded: state >> 24)
        }
    }

    /// A package of these bytes.
    public static func package(_ product: String, _ version: String, _ bytes: [UInt8]) throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("content-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let contents = folder.appendingPathComponent("source/Contents")
        try FileManager.default.createDirectory(at: contents, withIntermediateDirectories: true)
        try Data(bytes).write(to: contents.appendingPathComponent("chapter.txt"))
        guard let number = ContentVersion(version) else { throw NoVersion() }
        let file = folder.appendingPathComponent("content.pkg")
        try ContentPackageBuilder(info: ContentInfo(productID: product, version: number))
            .build(folder: folder.appendingPathComponent("source"), into: file)
        return [UInt8](try Data(contentsOf: file))
    }

    struct NoVersion: Error {}
}
