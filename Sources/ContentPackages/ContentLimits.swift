/// The size limits of a package. A package that exceeds a limit is refused before it is read further.
public struct ContentLimits: Sendable, Hashable {
    /// The largest package, in bytes. Apple's rule for hosted content is 2 GB.
    public var packedBytes: Int64 = 2_000_000_000
    /// The largest total size of the unpacked files, in bytes.
    public var unpackedBytes: Int64 = 2_000_000_000
    /// The most files, folders and links together.
    public var entries = 50_000
    /// The deepest nesting of folders.
    public var depth = 32
    /// The longest path within the package, in bytes of UTF-8.
    public var pathBytes = 1024
    /// The largest table of contents in the package, in bytes.
    public var tableBytes = 16 << 20
    /// The largest unpacked table of contents, in bytes.
    public var unpackedTableBytes = 64 << 20
    /// The largest `ContentInfo.plist`, in bytes.
    public var infoBytes = 64 << 10
    /// The largest ratio of unpacked to packed size, for a package that unpacks to more than ``ratioFloorBytes``.
    public var ratio: Int64 = 200
    /// The unpacked size in bytes up to which any ratio is allowed: a small file of zeros is not an attack.
    public var ratioFloorBytes: Int64 = 100 << 20

    /// Creates the limits of hosted content.
    public init() {}

    /// The limits of hosted content.
    public static let hosted = ContentLimits()
}
