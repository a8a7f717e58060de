/// The reason why the merchant's server did not start, or a command of its operator failed.
public struct MerchantServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// A file or setting is invalid.
        case invalidConfiguration
        /// Users other than its owner may read a secret.
        case exposedSecret
        /// A file cannot be read or written.
        case storage
        /// Another process uses the data directory or the schema.
        case dataDirectoryInUse
        /// The data directory cannot be created or written.
        case dataDirectoryUnusable
        /// The port cannot be opened.
        case portUnavailable
        /// A backup is damaged, or is not a backup.
        case badBackup
        /// A restore would replace existing data.
        case notEmpty
        /// A program of the database is not installed.
        case noTools
    }

    /// The kind of failure.
    public var code: Code
    /// A sentence for the operator: what is wrong, where, and what to do. It contains no secret.
    public var detail: String

    /// Creates an error.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The ``detail``.
    public var description: String { detail }
}
