/// What was built.
public struct BuiltPackage: Sendable, Hashable, Codable {
    /// The package's size in bytes.
    public var length: Int64
    /// All files together once unpacked, in bytes.
    public var unpackedLength: Int64
    /// How many files are in it.
    public var files: Int
    /// SHA-256 of the package in lower-case hexadecimal.
    public var sha256: String
}
