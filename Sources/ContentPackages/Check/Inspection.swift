/// The input of the rules: the files of a package or a folder, already read, and the expectation.
struct Inspection {
    /// The files, folders and links, from the content's root. A file that could be read has its ``ContentEntry/head``.
    var entries: [ContentEntry]
    /// The faults that were found while reading.
    var findings: [ContentFinding] = []
    /// The contents of `ContentInfo.plist`; nil when it is missing or unreadable.
    var info: ContentInfo.Reading?
    /// The package's size; nil for a folder.
    var packedLength: Int64?
    var expectation = ContentExpectation()
    var limits: ContentLimits

    /// The total size of the unpacked files.
    var unpackedLength: Int64 {
        entries.reduce(0) { $0.addingReportingOverflow($1.size).overflow ? .max : $0 + $1.size }
    }
}

/// The expected product and version of a package, where they are known.
public struct ContentExpectation: Sendable, Hashable {
    /// The product that the package must be for; nil for any.
    public var productID: String?
    /// The live version, which the package's version must exceed; nil when no version is live.
    public var above: ContentVersion?

    /// Creates an expectation of the given values.
    public init(productID: String? = nil, above: ContentVersion? = nil) {
        self.productID = productID
        self.above = above
    }
}
