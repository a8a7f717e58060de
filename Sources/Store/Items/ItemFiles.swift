import Foundation

/// The files beside a catalog that its items name: pictures, previews and the files that customers get.
struct ItemFiles {
    /// A file that cannot be used.
    struct Unusable: Error, Equatable {
        /// The problem, and how to fix it.
        var message: String
    }

    /// The folder of the catalog, without symbolic links; nil when the catalog is no file, so nothing can be named.
    private let folder: URL?

    /// Uses the folder of the catalog file at a path.
    init(besideFileAt path: String) {
        folder = URL(fileURLWithPath: path).deletingLastPathComponent().resolvingSymlinksInPath()
    }

    /// A catalog in memory, whose items cannot name files.
    static let none = ItemFiles()

    private init() { folder = nil }

    /// The media types by extension, of files that items may name.
    static let mediaTypes = [
        "wav": "audio/wav", "m4a": "audio/mp4", "mp3": "audio/mpeg", "webm": "video/webm", "mp4": "video/mp4",
        "epub": "application/epub+zip", "pdf": "application/pdf", "zip": "application/zip",
        "pkg": "application/octet-stream",
    ]

    /// The picture with a name relative to the catalog's folder.
    ///
    /// - Throws: ``Unusable``.
    func picture(_ name: String) throws(Unusable) -> ItemPicture {
        let (url, length, modified) = try place(name)
        guard length <= PictureHeader.largestFile else {
            throw Unusable(message: "is larger than \(PictureHeader.largestFile >> 20) MiB; use a smaller picture")
        }
        guard let file = try? FileHandle(forReadingFrom: url),
            let bytes = try? file.read(upToCount: PictureHeader.headerLength)
        else { throw Unusable(message: "cannot be read; check its permissions") }
        do {
            let header = try PictureHeader([UInt8](bytes))
            return ItemPicture(path: url.path, width: header.width, height: header.height, modified: modified)
        } catch { throw Unusable(message: error.message) }
    }

    /// The file with a name relative to the catalog's folder.
    ///
    /// - Throws: ``Unusable``.
    func file(_ name: String) throws(Unusable) -> ItemFile {
        let (url, length, _) = try place(name)
        guard let type = Self.mediaTypes[url.pathExtension.lowercased()] else {
            let known = Self.mediaTypes.keys.sorted().joined(separator: ", ")
            throw Unusable(message: "has an unknown extension; the store supports \(known)")
        }
        guard length > 0 else { throw Unusable(message: "is empty") }
        return ItemFile(path: url.path, mediaType: type, length: length)
    }

    /// The file's place, length in bytes and modification time in milliseconds since 1970.
    private func place(_ name: String) throws(Unusable) -> (URL, Int64, Int64) {
        guard let folder else { throw Unusable(message: "cannot be found, because the catalog is not a file") }
        guard !name.isEmpty, !name.hasPrefix("/"), !name.contains("\0") else {
            throw Unusable(message: "is not a path relative to the catalog's folder, such as pictures/icon.png")
        }
        let url = folder.appendingPathComponent(name).resolvingSymlinksInPath()
        guard url.path.utf8.starts(with: (folder.path == "/" ? "/" : folder.path + "/").utf8) else {
            throw Unusable(message: "leads out of the catalog's folder; put the file beside the catalog")
        }
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) else {
            throw Unusable(message: "does not exist; paths are relative to the catalog's folder")
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let length = (attributes[.size] as? NSNumber)?.int64Value
        else { throw Unusable(message: "is not a file") }
        let date = attributes[.modificationDate] as? Date ?? Date(timeIntervalSince1970: 0)
        return (url, length, Int64((date.timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
