/// Why bytes could not be kept or read.
public struct BlobError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// There is nothing under that digest.
        case notFound
        /// The range asked for is not within the bytes.
        case invalidRange
        /// The place does not answer, or refuses for a while.
        case unavailable
        /// No room is left.
        case full
        /// The place refuses, or what it keeps is not what it was given.
        case refused
        /// The place is written wrongly.
        case invalidLocation
    }

    public var code: Code
    /// What was wrong and where, without keys.
    public var detail: String

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    public var description: String { detail }
}
