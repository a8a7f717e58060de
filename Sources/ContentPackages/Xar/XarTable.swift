/// The table of contents of a xar archive.
struct XarTable: Sendable {
    /// The table's own checksum. Its bytes are in the heap.
    struct TableChecksum: Sendable {
        var style: ChecksumStyle?
        var offset: Int64
        var size: Int64
    }

    /// The table's checksum; nil when it has none.
    var checksum: TableChecksum?
    /// All files, parents before children.
    var files: [XarFile] = []
}

/// A file, folder or link in the table.
struct XarFile: Sendable {
    var id = ""
    /// The index of the parent folder; nil at the root.
    var parent: Int?
    /// The number of folders above.
    var depth = 0
    var name: String?
    /// Whether the name was valid UTF-8. Otherwise ``name`` holds a replacement.
    var nameIsText = true
    /// The type: `file`, `directory`, `symlink`, `hardlink`, `fifo`, `character special`, `block special`, `socket`.
    var type = ""
    /// The value of a hard link: `original`, or the id of the file that has the bytes.
    var hardLink: String?
    /// The target of a symbolic link.
    var target: String?
    /// The permissions and the bits above them; nil when the table does not say.
    var mode: Int?
    var data: XarData?
    /// The path from the root, with the unchanged names joined by `/`.
    var path = ""
}

/// The bytes of a file.
struct XarData: Sendable, Hashable {
    enum Encoding: Hashable, Sendable {
        /// The bytes are not packed.
        case raw
        /// A zlib stream (RFC 1950), despite the name `application/x-gzip`.
        case zlib
        /// An unsupported encoding.
        case other(String)
    }

    /// The offset from the start of the heap.
    var offset: Int64
    /// The length in the archive.
    var length: Int64
    /// The unpacked size.
    var size: Int64
    var encoding: Encoding
    /// The checksum of the bytes in the archive.
    var archived: Checksum?
    /// The checksum of the unpacked bytes.
    var extracted: Checksum?
}
