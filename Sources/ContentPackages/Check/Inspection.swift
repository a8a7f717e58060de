/// Everything that the rules look at: the files of a package or a folder, already read, and what is expected of them.
struct Inspection {
    /// Files, folders and links from the content's root. A file that may have been read has its ``ContentEntry/head``.
    var entries: [ContentEntry]
    /// What was already wrong in reading.
    var findings: [ContentFinding] = []
    /// `ContentInfo.plist`; nil when there is none that could be read.
    var info: ContentInfo.Reading?
    /// The package's size; nil for a folder.
    var packedLength: Int64?
    var expectation = ContentExpectation()
    var limits: ContentLimits

    /// All files together, unpacked.
    var unpackedLength: Int64 {
        entries.reduce(0) { $0.addingReportingOverflow($1.size).overflow ? .max : $0 + $1.size }
    }
}

/// What the package is to be, where that is known.
public struct ContentExpectation: Sendable, Hashable {
    /// The product it must be for; nil for any.
    public var productID: String?
    /// The live version, which its own must be above; nil when there is none.
    public var above: ContentVersion?

    /// Expects nothing, or what is given.
    public init(productID: String? = nil, above: ContentVersion? = nil) {
        self.productID = productID
        self.above = above
    }
}
