/// A fault of a package, or of the folder from which it is to be built.
public struct ContentFinding: Sendable, Hashable, Codable {
    /// The violated rule. The raw values are stable: programs may compare them.
    public enum Rule: String, Sendable, Codable, CaseIterable {
        // Rules that an archive must follow before its contents can be checked.

        /// The file is not a xar archive, or ends too early.
        case format
        /// The table of contents is damaged or contains invalid values.
        case table
        /// The checksum of the table or of a file does not match.
        case checksum
        /// The table points outside of the file.
        case range
        /// Two files share part of their bytes, which no tool writes.
        case overlap
        /// A file does not have the length that the table states.
        case length
        /// A file's packed bytes are damaged.
        case data
        /// A file is packed with an unsupported encoding.
        case encoding
        /// The payload of a product archive is damaged or of an unknown kind.
        case payload

        // The rules of hosted content.

        /// There are too many files, or folders are too deep.
        case entries
        /// The package is over 2 GB, packed or unpacked.
        case size
        /// The package unpacks to far more than its size can hold of real content.
        case bomb
        /// A file contains a program or a part of one.
        case executableCode = "executable-code"
        /// A file has an executable bit.
        case executableBit = "executable-bit"
        /// A folder or a file has the name of a bundle or library with code.
        case codeBundle = "code-bundle"
        /// A symbolic link points outside of the content.
        case outsideLink = "outside-link"
        /// A path is absolute or goes up with `..`.
        case outsidePath = "outside-path"
        /// A name has a slash or control characters, is not UTF-8, or is too long.
        case name
        /// Names are the same, or differ only by case or Unicode form.
        case nameClash = "name-clash"
        /// A file is a device, a socket or a pipe.
        case specialFile = "special-file"
        /// A file has the setuid or setgid bit, with which it would run as another user, or the sticky bit.
        case setuid
        /// `ContentInfo.plist` is not at the root.
        case infoMissing = "info-missing"
        /// `ContentInfo.plist` lacks a key or has an invalid one.
        case infoKeys = "info-keys"
        /// The package is for another product.
        case product
        /// The package's version is not above the live version.
        case version
        /// `Contents` has no file.
        case empty
        /// Something other than `ContentInfo.plist` and `Contents` is at the root.
        case layout
        /// The archive has installer scripts.
        case installerScript = "installer-script"
    }

    /// The violated rule.
    public var rule: Rule
    /// The path from the content's root; nil when the finding is about the package as a whole.
    public var path: String?
    /// The fault, in one sentence.
    public var message: String
    /// The remedy, in one sentence.
    public var advice: String

    init(_ rule: Rule, path: String? = nil, _ message: String, _ advice: String) {
        self.rule = rule
        self.path = path
        self.message = message
        self.advice = advice
    }

    /// Creates a finding about the archive itself, which its maker cannot correct in the folder.
    static func damaged(_ rule: Rule, path: String? = nil, _ message: String) -> ContentFinding {
        ContentFinding(
            rule, path: path, message, "Build the package again; if it was copied or downloaded, do that again first.")
    }
}
