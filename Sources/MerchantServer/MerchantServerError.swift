/// Why the merchant's server did not start, or a command of its operator failed.
public struct MerchantServerError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// A file or setting is not what it has to be.
        case invalidConfiguration
        /// A secret may be read by others than its owner.
        case exposedSecret
        /// A file cannot be read or written.
        case storage
        case dataDirectoryInUse
        case dataDirectoryUnusable
        case portUnavailable
        /// A backup is damaged, or is none.
        case badBackup
        /// A restore into an empty place was killed before its database was there.
        case halfRestored
        /// What is to be restored would take the place of something.
        case notEmpty
        /// A program of the database's is not installed.
        case noTools
    }

    public var code: Code
    /// What is wrong, where, and what to do. It holds no secret.
    public var detail: String

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    public var description: String { detail }
}
