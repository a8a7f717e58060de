import Foundation

/// An open package of hosted content.
///
/// It reads xar archives of the content's tree, and the product archives of Xcode and `productbuild --content`, which
/// contain the tree as the cpio payload of a component. Opening does not check whether the files are complete or
/// allowed: ``ContentCheck`` does, and ``unpack(into:limits:isCancelled:progress:)`` checks again what it depends on.
public struct ContentPackage: Sendable {
    /// The contents of its `ContentInfo.plist`.
    public let info: ContentInfo
    /// The package's size in bytes.
    public let length: Int64

    let contents: PackageContents

    /// The files, folders and links, from the content's root.
    public var entries: [ContentEntry] { contents.entries }
    /// The total size of the unpacked files in bytes, as the package states it.
    public var unpackedLength: Int64 { contents.unpackedLength }

    /// Opens a package and reads its table of contents. A product archive has no table, so its whole payload is read.
    ///
    /// The call blocks while it reads.
    /// - Parameter isCancelled: called once the table is read, and often while a payload is read.
    /// - Throws: ``ContentPackageError``; `refused` with the findings when the file is not a readable package of hosted
    ///   content or exceeds a limit, `unreadable` when the file cannot be read, and `cancelled`.
    public static func open(
        file: URL, limits: ContentLimits = .hosted, isCancelled: () -> Bool = { false }
    ) throws -> ContentPackage {
        let file = try ReadableFile(file.path)
        let contents = try PackageContents(file: file, limits: limits, isCancelled: isCancelled)
        guard contents.findings.isEmpty else { throw ContentPackageError(refused: contents.findings) }
        guard let bytes = contents.info else {
            let isThere = contents.entries.contains { $0.path == ContentInfo.fileName }
            throw ContentPackageError(refused: [isThere ? .infoIsNoFile : .noInfo])
        }
        return ContentPackage(info: try ContentInfo(propertyList: Data(bytes)), length: file.length, contents: contents)
    }

    init(info: ContentInfo, length: Int64, contents: PackageContents) {
        self.info = info
        self.length = length
        self.contents = contents
    }
}

extension ContentFinding {
    static let infoIsNoFile = ContentFinding(
        .layout, path: ContentInfo.fileName, "ContentInfo.plist is not a plain file.", "Replace it with a plain file.")
    static let noInfo = ContentFinding(
        .infoMissing, path: ContentInfo.fileName, "There is no ContentInfo.plist at the root.",
        "Write one with \(ContentInfo.productKey) and \(ContentInfo.versionKey); cornerstore content init does.")
}
