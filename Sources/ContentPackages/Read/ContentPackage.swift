import Foundation

/// A package of hosted content that was opened: what it is and what it holds.
///
/// Read are xar archives of the content's tree, and the product archives of Xcode and `productbuild --content`, which hold it as the cpio
/// payload of a component. Nothing is known yet of whether the files are whole or allowed: that is ``ContentCheck``'s work, and
/// ``unpack(into:limits:isCancelled:progress:)`` looks again at what it needs.
public struct ContentPackage: Sendable {
    /// What its `ContentInfo.plist` says.
    public let info: ContentInfo
    /// The package's size in bytes.
    public let length: Int64

    let contents: PackageContents

    /// Files, folders and links, from the content's root.
    public var entries: [ContentEntry] { contents.entries }
    /// All files together once unpacked, in bytes, by the package's own account.
    public var unpackedLength: Int64 { contents.unpackedLength }

    /// Opens a package and reads its table of contents. Of a product archive the whole payload is read, because it has no table.
    ///
    /// It blocks while it reads.
    /// - Throws: ``ContentPackageError``: `refused` with what is wrong when it is no package of hosted content or cannot be read as one.
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
        .layout, path: ContentInfo.fileName, "ContentInfo.plist is no plain file.", "Make it one.")
    static let noInfo = ContentFinding(
        .infoMissing, path: ContentInfo.fileName, "There is no ContentInfo.plist at the root.",
        "Write one with \(ContentInfo.productKey) and \(ContentInfo.versionKey); cornerstore content init does.")
}
