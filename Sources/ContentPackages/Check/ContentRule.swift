/// A rule of hosted content. Each has a file of its own.
struct ContentRule: Sendable {
    /// Everything that breaks it.
    let findings: @Sendable (Inspection) -> [ContentFinding]

    /// A rule about the content as a whole.
    init(_ findings: @escaping @Sendable (Inspection) -> [ContentFinding]) { self.findings = findings }

    /// A rule about each file, folder and link by itself.
    init(forEach finding: @escaping @Sendable (ContentEntry) -> ContentFinding?) {
        findings = { $0.entries.compactMap(finding) }
    }

    /// All, in the order in which findings are told.
    static let all: [ContentRule] = [
        .info, .product, .version, .layout, .empty, .entries, .size, .bomb, .outsidePath, .name, .nameClash,
        .outsideLink,
        .specialFile, .setuid, .executableCode, .executableBit, .codeBundle,
    ]
}
