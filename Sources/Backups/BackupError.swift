/// The reason why a backup or a restore failed.
package struct BackupError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    package enum Code: String, Sendable {
        /// A setting is invalid.
        case invalidConfiguration
        /// Users other than its owner may read a secret.
        case exposedSecret
        /// A file cannot be read or written.
        case storage
        /// A server uses the data.
        case inUse
        /// A folder cannot be created or written.
        case unusable
        /// A backup is damaged, or is not a backup.
        case badBackup
        /// A restore would replace existing data.
        case notEmpty
        /// A program of the database is not installed.
        case noTools
    }

    /// The kind of failure.
    package var code: Code
    /// A sentence for the operator: what is wrong, where, and what to do. It contains no secret.
    package var detail: String

    /// Creates an error.
    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The ``detail``.
    package var description: String { detail }
}
