/// A rule of hosted content. Each rule has a file of its own.
struct ContentRule: Sendable {
    /// The findings of everything that violates the rule.
    let findings: @Sendable (Inspection) -> [ContentFinding]

    /// A rule about the content as a whole.
    init(_ findings: @escaping @Sendable (Inspection) -> [ContentFinding]) { self.findings = findings }

    /// A rule about each single file, folder and link.
    init(forEach finding: @escaping @Sendable (ContentEntry) -> ContentFinding?) {
        findings = { $0.entries.compactMap(finding) }
    }

    /// All rules, in the order in which findings are reported.
    static let all: [ContentRule] = [
        .info, .product, .version, .layout, .empty, .entries, .size, .bomb, .outsidePath, .name, .nameClash,
        .outsideLink,
        .specialFile, .setuid, .executableCode, .executableBit, .codeBundle,
    ]
}
