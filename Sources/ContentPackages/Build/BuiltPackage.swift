/// A package that was built.
public struct BuiltPackage: Sendable, Hashable, Codable {
    /// The package's size in bytes.
    public var length: Int64
    /// The total size of the unpacked files, in bytes.
    public var unpackedLength: Int64
    /// The number of files in the package.
    public var files: Int
    /// The SHA-256 of the package in lower-case hexadecimal.
    public var sha256: String
}
