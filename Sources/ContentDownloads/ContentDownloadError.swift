/// The reason why a file was not downloaded. No text contains an address, because an address may contain a signature.
public struct ContentDownloadError: Error, Sendable, Equatable {
    /// The kind of failure, for programs.
    public enum Code: String, Sendable, CaseIterable {
        /// The server could not be reached, stopped answering, or asked to come back later. The bytes that arrived are
        /// kept: try again.
        case unreachable
        /// The address has expired, or the file is gone (403, 404, 410). The bytes that arrived are kept: try again
        /// with another address.
        case addressExpired
        /// The server refused the request permanently; ``ContentDownloadError/status`` holds its status.
        case refused
        /// The server's file does not have the announced length. The bytes that arrived are deleted.
        case wrongLength
        /// The complete file does not have the announced SHA-256. The bytes that arrived are deleted.
        case wrongDigest
        /// The disk or the user's quota is full. The bytes that arrived are kept.
        case noSpace
        /// The file cannot be written or read for another reason.
        case fileUnusable
        /// The address is not an `http` or `https` URL, or the length or digest is invalid.
        case invalidRequest
        /// The task was cancelled. The bytes that arrived are kept.
        case cancelled
    }

    /// The kind of failure.
    public var code: Code
    /// The problem, where it occurred, and how to fix it, for people.
    public var detail: String
    /// The HTTP status; nil when the server did not answer.
    public var status: Int?

    /// Creates an error.
    public init(_ code: Code, _ detail: String, status: Int? = nil) {
        self.code = code
        self.detail = detail
        self.status = status
    }
}
