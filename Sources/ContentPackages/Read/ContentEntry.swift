/// A file, folder or link of hosted content.
public struct ContentEntry: Sendable, Hashable {
    /// The kind of an entry.
    public enum Kind: Sendable, Hashable {
        /// A plain file.
        case file
        /// A folder.
        case directory
        /// A symbolic link and its target.
        case symbolicLink(target: String)
        /// A kind of file that content may not contain: a device, a socket, a pipe.
        case special(String)
    }

    /// The path from the content's root, with names joined by `/`.
    public var path: String
    /// The kind of the entry.
    public var kind: Kind
    /// The unpacked size of a file in bytes; 0 for any other kind.
    public var size: Int64
    /// The permissions and the bits above them in the package; nil when the package does not say. Unpacking always
    /// gives 0644 and 0755.
    public var mode: Int?

    /// Whether ``path`` was valid UTF-8. Otherwise it contains replacement characters.
    var pathIsText = true
    /// Whether the name in the table of a xar archive contains a slash, so that ``path`` does not show its folder.
    var nameHasSlash = false
    /// The location of the bytes in a package; nil in a payload, in a folder, and for an empty file.
    var data: XarData?
    /// The first bytes, if they were read together with the package.
    var head: [UInt8]?

    init(path: String, kind: Kind, size: Int64 = 0, mode: Int? = nil) {
        self.path = path
        self.kind = kind
        self.size = size
        self.mode = mode
    }

    /// The number of bytes at the beginning of a file that identify its kind.
    static let headSize = 128
}
