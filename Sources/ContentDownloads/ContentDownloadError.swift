/// Why a file was not downloaded. Addresses, which may hold a signature, are in none.
public struct ContentDownloadError: Error, Sendable, Equatable {
    /// What a program needs to know of it.
    public enum Code: String, Sendable, CaseIterable {
        /// The server was not reached, fell silent, or said to come back later. What came is kept: try again.
        case unreachable
        /// The address is good no longer, or nothing is there any more (403, 404, 410). What came is kept: try again with another address.
        case addressExpired
        /// The server refused for good; ``ContentDownloadError/status`` says how.
        case refused
        /// The server's file has another length than was said. What came is thrown away.
        case wrongLength
        /// The whole file has another SHA-256 than was said. What came is thrown away.
        case wrongDigest
        /// The disk, or the user's share of it, is full. What came is kept.
        case noSpace
        /// The file cannot be written or read, for another reason.
        case fileUnusable
        /// The address is not an `http` or `https` URL, or the digest is not one.
        case invalidRequest
        /// The task was cancelled. What came is kept.
        case cancelled
    }

    public var code: Code
    /// What was wrong, where, and what to do, for people.
    public var detail: String
    /// The HTTP status, when there was an answer.
    public var status: Int?

    public init(_ code: Code, _ detail: String, status: Int? = nil) {
        self.code = code
        self.detail = detail
        self.status = status
    }
}
