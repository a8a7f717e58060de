/// The reason why a package was not built, read or unpacked.
///
/// The property ``findings`` lists the faults of a package or a folder. A check returns the same findings without an
/// error.
public struct ContentPackageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The package or the folder violates a rule of hosted content, or is damaged: see
        /// ``ContentPackageError/findings``.
        case refused
        /// A file or folder does not exist or cannot be read.
        case unreadable
        /// A file or folder cannot be written.
        case unwritable
        /// The disk or the user's quota is full.
        case diskFull
        /// The location to write to is already occupied.
        case alreadyThere
        /// Another process or task is writing to the same location.
        case busy
        /// The work was cancelled.
        case cancelled
    }

    /// The kind of failure.
    public var code: Code
    /// The problem, where it occurred, and how to fix it.
    public var detail: String
    /// The faults of the package; empty when the error has another reason.
    public var findings: [ContentFinding]

    /// Creates an error of a kind. The detail says what was wrong, where, and what to do.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
        findings = []
    }

    /// Creates a refusal. There must be at least one finding.
    init(refused findings: [ContentFinding]) {
        code = .refused
        self.findings = findings
        let first = findings.first.map { "\($0.path.map { "\($0): " } ?? "")\($0.message) \($0.advice)" } ?? ""
        detail = findings.count > 1 ? "\(first) There are \(findings.count - 1) more findings." : first
    }

    /// The code and the detail.
    public var description: String { "\(code.rawValue): \(detail)" }

    /// The work was cancelled.
    static let cancelled = ContentPackageError(
        .cancelled, "The work was cancelled; nothing was left behind.")
}

extension ContentPackageError {
    /// Creates a refusal of a package that is damaged or not of the expected format.
    static func damaged(_ rule: ContentFinding.Rule, path: String? = nil, _ message: String) -> ContentPackageError {
        ContentPackageError(refused: [.damaged(rule, path: path, message)])
    }
}
