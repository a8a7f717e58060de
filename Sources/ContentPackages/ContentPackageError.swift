/// Why a package was not built, read or unpacked.
///
/// What is wrong with a package or a folder is in ``findings``; a check gives the same findings without an error.
public struct ContentPackageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it was.
    public enum Code: String, Sendable {
        /// The package or the folder breaks a rule of hosted content, or is damaged: see ``ContentPackageError/findings``.
        case refused
        /// A file or folder is not there or cannot be read.
        case unreadable
        /// A file or folder cannot be written.
        case unwritable
        /// The disk, or the space granted to the user, is full.
        case diskFull
        /// There is something already where it was to be written.
        case alreadyThere
        /// Another one is writing to the same place.
        case busy
        /// It was told to stop.
        case cancelled
    }

    /// What kind of failure it was.
    public var code: Code
    /// What was wrong, where, and what to do.
    public var detail: String
    /// What is wrong with the package, when that is why.
    public var findings: [ContentFinding]

    /// Makes an error of a kind with its words.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
        findings = []
    }

    /// Refuses for what was found. There is at least one finding.
    init(refused findings: [ContentFinding]) {
        code = .refused
        self.findings = findings
        let first = findings.first.map { "\($0.path.map { "\($0): " } ?? "")\($0.message) \($0.advice)" } ?? ""
        detail = findings.count > 1 ? "\(first) There are \(findings.count - 1) more findings." : first
    }

    public var description: String { "\(code.rawValue): \(detail)" }

    /// It was told to stop.
    static let cancelled = ContentPackageError(
        .cancelled, "It was stopped before it was done; nothing was left behind.")
}

extension ContentPackageError {
    /// Refuses a package that is damaged or not what it says.
    static func damaged(_ rule: ContentFinding.Rule, path: String? = nil, _ message: String) -> ContentPackageError {
        ContentPackageError(refused: [.damaged(rule, path: path, message)])
    }
}
