/// The table of contents of a xar archive.
struct XarTable: Sendable {
    /// The table's own checksum, whose bytes stand in the heap.
    struct TableChecksum: Sendable {
        var style: ChecksumStyle?
        var offset: Int64
        var size: Int64
    }

    /// Nil when there is none.
    var checksum: TableChecksum?
    /// Parents before children.
    var files: [XarFile] = []
}

/// A file, folder or link of the table.
struct XarFile: Sendable {
    var id = ""
    /// The index of the folder it is in; nil at the root.
    var parent: Int?
    /// Folders above it.
    var depth = 0
    var name: String?
    /// Whether the name was text in UTF-8; else ``name`` has a replacement in its place.
    var nameIsText = true
    /// `file`, `directory`, `symlink`, `hardlink`, `fifo`, `character special`, `block special`, `socket`.
    var type = ""
    /// Of a hard link: `original`, or the id of the file that has the bytes.
    var hardLink: String?
    /// Where a symbolic link points.
    var target: String?
    /// Permissions and the bits above them; nil when not said.
    var mode: Int?
    var data: XarData?
    /// From the root, names joined by `/` as they stand.
    var path = ""
}

/// The bytes of a file.
struct XarData: Sendable, Hashable {
    enum Encoding: Hashable, Sendable {
        /// As they are.
        case raw
        /// A zlib stream (RFC 1950), whatever `application/x-gzip` suggests.
        case zlib
        /// One that is not read here.
        case other(String)
    }

    /// From the heap's start.
    var offset: Int64
    /// In the archive.
    var length: Int64
    /// Once unpacked.
    var size: Int64
    var encoding: Encoding
    /// Over the bytes as they stand in the archive.
    var archived: Checksum?
    /// Over the unpacked bytes.
    var extracted: Checksum?
}
