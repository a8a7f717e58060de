/// A package in which nothing was found wrong. Only ``ContentCheck`` makes one.
public struct CheckedPackage: Sendable {
    /// The package, open.
    public let package: ContentPackage
    /// What it was checked against.
    public let expectation: ContentExpectation

    /// What its `ContentInfo.plist` says.
    public var info: ContentInfo { package.info }
    /// The package's size in bytes.
    public var length: Int64 { package.length }
    /// All files together once unpacked, in bytes: counted, not only said.
    public var unpackedLength: Int64 { package.unpackedLength }

    init(package: ContentPackage, expectation: ContentExpectation) {
        self.package = package
        self.expectation = expectation
    }
}
