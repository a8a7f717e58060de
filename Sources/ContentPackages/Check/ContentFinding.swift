/// One thing that is wrong with a package or with the folder it is to be built from.
public struct ContentFinding: Sendable, Hashable, Codable {
    /// Which rule was broken. The words are stable: programs may compare them.
    public enum Rule: String, Sendable, Codable, CaseIterable {
        // What an archive has to be before there is anything to check in it.

        /// The file is no xar archive, or ends too early.
        case format
        /// The table of contents is damaged or says what no table may say.
        case table
        /// The checksum of the table or of a file does not match.
        case checksum
        /// The table points outside of the file.
        case range
        /// Two files have part of their bytes in common, which no tool writes.
        case overlap
        /// A file has another length than the table says.
        case length
        /// A file's packed bytes are damaged.
        case data
        /// A file is packed in a way that is not read here.
        case encoding
        /// The payload of a product archive is damaged or of an unknown kind.
        case payload

        // The rules of hosted content.

        /// There are too many files, or folders are too deep.
        case entries
        /// The package is over 2 GB, packed or unpacked.
        case size
        /// It unpacks to far more than its size can hold of real content.
        case bomb
        /// A file is a program or a part of one.
        case executableCode = "executable-code"
        /// A file may be executed.
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
        /// It is a device, a socket or a pipe.
        case specialFile = "special-file"
        /// It would run as another user (setuid, setgid) or is sticky.
        case setuid
        /// `ContentInfo.plist` is not at the root.
        case infoMissing = "info-missing"
        /// `ContentInfo.plist` lacks a key or has a wrong one.
        case infoKeys = "info-keys"
        /// It is for another product.
        case product
        /// Its version is not above the live one.
        case version
        /// There is nothing in `Contents`.
        case empty
        /// Something other than `ContentInfo.plist` and `Contents` is at the root.
        case layout
        /// The archive has installer scripts.
        case installerScript = "installer-script"
    }

    /// Which rule was broken.
    public var rule: Rule
    /// Where, from the content's root; nil when it is about the package as a whole.
    public var path: String?
    /// What is wrong, in one sentence.
    public var message: String
    /// What to do, in one sentence.
    public var advice: String

    init(_ rule: Rule, path: String? = nil, _ message: String, _ advice: String) {
        self.rule = rule
        self.path = path
        self.message = message
        self.advice = advice
    }

    /// What is wrong with an archive itself, which its maker cannot mend in the folder.
    static func damaged(_ rule: Rule, path: String? = nil, _ message: String) -> ContentFinding {
        ContentFinding(
            rule, path: path, message, "Build the package again; if it was copied or downloaded, do that again first.")
    }
}
