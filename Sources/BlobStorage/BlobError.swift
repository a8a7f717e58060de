/// The reason why a blob could not be stored or read.
public struct BlobError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The store holds no blob with this digest.
        case notFound
        /// The requested range is not within the blob.
        case invalidRange
        /// The storage does not answer, or refuses for a short time.
        case unavailable
        /// The storage is full.
        case full
        /// The storage refuses the request, or does not hold the bytes that it was given.
        case refused
        /// The location of the storage is malformed.
        case invalidLocation
    }

    /// The kind of failure.
    public var code: Code
    /// The problem and where it occurred. It never contains keys.
    public var detail: String

    /// Creates an error.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// ``detail``.
    public var description: String { detail }
}
