/// A package that passed the check. Only ``ContentCheck`` makes one.
public struct CheckedPackage: Sendable {
    /// The open package.
    public let package: ContentPackage
    /// The expectation that it was checked against.
    public let expectation: ContentExpectation

    /// The contents of its `ContentInfo.plist`.
    public var info: ContentInfo { package.info }
    /// The package's size in bytes.
    public var length: Int64 { package.length }
    /// The total size of the unpacked files in bytes, which the check has counted.
    public var unpackedLength: Int64 { package.unpackedLength }

    init(package: ContentPackage, expectation: ContentExpectation) {
        self.package = package
        self.expectation = expectation
    }
}
