/// A file, folder or link of hosted content.
public struct ContentEntry: Sendable, Hashable {
    /// What it is.
    public enum Kind: Sendable, Hashable {
        case file
        case directory
        /// A symbolic link, and where it points.
        case symbolicLink(target: String)
        /// Something that no content may have: a device, a socket, a pipe.
        case special(String)
    }

    /// From the content's root, names joined by `/`.
    public var path: String
    /// What it is.
    public var kind: Kind
    /// Of a file, unpacked, in bytes; 0 of anything else.
    public var size: Int64
    /// Permissions and the bits above them, as the package has them; unpacking gives 0644 and 0755 whatever they are. Nil when not said.
    public var mode: Int?

    /// Whether ``path`` was text; else it has replacement characters.
    var pathIsText = true
    /// Whether its name in the table of a xar archive has a slash, so that ``path`` does not tell the folder that it is in.
    var nameHasSlash = false
    /// Where its bytes are in a package; nil in a payload, in a folder, and of an empty file.
    var data: XarData?
    /// Its first bytes, where reading the package had to pass over them anyway.
    var head: [UInt8]?

    init(path: String, kind: Kind, size: Int64 = 0, mode: Int? = nil) {
        self.path = path
        self.kind = kind
        self.size = size
        self.mode = mode
    }

    /// How many bytes at the beginning of a file tell what it is.
    static let headSize = 128
}
