/// How large a package may be, in every direction. What is over a limit is refused before it is read further.
public struct ContentLimits: Sendable, Hashable {
    /// The package itself, in bytes. Apple's rule for hosted content is 2 GB.
    public var packedBytes: Int64 = 2_000_000_000
    /// All its files once unpacked, in bytes.
    public var unpackedBytes: Int64 = 2_000_000_000
    /// Files, folders and links together.
    public var entries = 50_000
    /// Folders within one another.
    public var depth = 32
    /// The length of a path within the package, in bytes of UTF-8.
    public var pathBytes = 1024
    /// The table of contents as it stands in the package, in bytes.
    public var tableBytes = 16 << 20
    /// The table of contents once unpacked, in bytes.
    public var unpackedTableBytes = 64 << 20
    /// `ContentInfo.plist`, in bytes.
    public var infoBytes = 64 << 10
    /// How many times its packed size a package may grow to, once it grows beyond ``ratioFloorBytes``.
    public var ratio: Int64 = 200
    /// Below this many bytes any ratio will do: a small file of nothing but zeros is no attack.
    public var ratioFloorBytes: Int64 = 100 << 20

    /// Those of hosted content.
    public init() {}

    /// Those of hosted content.
    public static let hosted = ContentLimits()
}
