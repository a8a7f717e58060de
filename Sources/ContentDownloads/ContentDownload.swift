import CornerstoreHTTPClient
import Foundation

/// The download of one file, whose length and SHA-256 are known in advance.
///
/// The download writes the bytes to `FILE.part` and hashes them as they arrive. The file gets its name only when length
/// and digest are right. A download that was stopped for any reason resumes where it was: it hashes the part again and
/// requests the rest (RFC 9110, `Range` with `If-Range`). Only one download at a time may use a file.
public struct ContentDownload: Sendable {
    /// The address of the bytes, `http` or `https`.
    public let address: URL
    /// The length of the file in bytes.
    public let length: Int64
    /// The SHA-256 of the file in lower-case hexadecimal.
    public let sha256: String
    /// The location of the downloaded file. Its folder must exist.
    public let file: URL
    /// The header `Authorization` of the request, for a server that requires one. Secret; redirections are not
    /// followed.
    private let authorization: String?

    /// Creates a download.
    public init(address: URL, length: Int64, sha256: String, file: URL, authorization: String? = nil) {
        self.address = address
        self.length = length
        self.sha256 = sha256
        self.file = file
        self.authorization = authorization
    }

    /// The number of bytes of the download to `file` that are already on the disk; 0 when no download has begun.
    public static func received(for file: URL) -> Int64 { PartFile.length(of: file) }

    /// Removes the downloaded file and any part of it.
    public static func remove(_ file: URL) {
        unlink(file.path)
        PartFile.remove(file)
    }

    /// Downloads the file, or the rest of it, and returns when the file is complete, verified and on the disk.
    /// Cancelling the task stops the download.
    ///
    /// - Parameter progress: receives the number of bytes that have arrived in all, after each portion, on the
    ///   download's task. It should be quick.
    /// - Throws: ``ContentDownloadError``. The caller decides whether and when to try again.
    public func run(progress: @Sendable (Int64) -> Void = { _ in }) async throws(ContentDownloadError) {
        guard let scheme = address.scheme?.lowercased(), ["http", "https"].contains(scheme), address.host != nil else {
            throw ContentDownloadError(.invalidRequest, "the download's address is not an http or https URL")
        }
        guard length >= 0, sha256.utf8.count == 64, sha256.utf8.allSatisfy(\.isLowerHexadecimal) else {
            throw ContentDownloadError(.invalidRequest, "the download's length or SHA-256 is invalid")
        }
        if try isThere() {
            // The earlier run may have been stopped before it removed them.
            PartFile.remove(file)
            progress(length)
            return
        }
        let part = try PartFile(of: file, digest: sha256, limit: length)
        defer { part.close() }
        try part.rehash { Task.isCancelled }
        progress(part.length)
        // Two attempts: a part that is damaged, or that the server cannot continue, is downloaded again once.
        for attempt in 0..<2 {
            let resumedAt = part.length
            do throws(ContentDownloadError) {
                if part.length < length || length == 0 {
                    try await receive(into: part, progress)
                }
                try check(part)
                return try part.commit()
            } catch {
                guard [.wrongLength, .wrongDigest].contains(error.code) else {
                    // An empty part is useless.
                    if part.length == 0 { PartFile.remove(file) }
                    throw error
                }
                if attempt == 0, resumedAt > 0 {
                    try part.restart()
                } else {
                    part.close()
                    PartFile.remove(file)
                    throw error
                }
            }
        }
    }

    /// Whether the complete file exists, from an earlier run that was stopped at the last moment.
    private func isThere() throws(ContentDownloadError) -> Bool {
        var status = stat()
        guard lstat(file.path, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ContentDownloadError(.fileUnusable, "\(file.path) is not a plain file; remove it")
        }
        // The file was right when it got its name, but it may be another version's.
        guard status.st_size == off_t(length),
            try FileDigest.sha256(of: file, isCancelled: { Task.isCancelled }) == sha256
        else {
            unlink(file.path)
            return false
        }
        return true
    }

    private func check(_ part: PartFile) throws(ContentDownloadError) {
        guard part.length == length else { throw .wrongLength(part.length, expected: length) }
        guard part.finalDigest() == sha256 else {
            throw ContentDownloadError(
                .wrongDigest, "the downloaded file does not have the expected SHA-256; download it again")
        }
    }

    private func receive(
        into part: PartFile, _ progress: @Sendable (Int64) -> Void
    ) async throws(ContentDownloadError) {
        var request = HTTPRequest("GET", address.absoluteString)
        request.add("Accept-Encoding", "identity")
        if let authorization { request.add("Authorization", authorization) }
        if part.length > 0, let tag = part.entityTag {
            request.add("Range", "bytes=\(part.length)-")
            request.add("If-Range", tag)
        } else if part.length > 0 {
            // Without the server's entity tag, the rest may belong to another version of the file.
            try part.restart()
        }
        let response: HTTPResponse
        do { response = try await HTTPClient.shared.send(request) } catch { throw Self.lost(error) }
        try prepare(part, for: DownloadAnswer(response, offset: part.length, length: length))
        while let bytes = try await next(of: response) {
            guard !Task.isCancelled else { throw ContentDownloadError.wasCancelled }
            guard part.length + Int64(bytes.count) <= length else {
                throw ContentDownloadError.wrongLength(nil, expected: length)
            }
            try bytes.span.bytes.withUnsafeBytes { bytes throws(ContentDownloadError) in try part.append(bytes) }
            progress(part.length)
        }
    }

    private func next(of response: HTTPResponse) async throws(ContentDownloadError) -> [UInt8]? {
        do { return try await response.next() } catch { throw Self.lost(error) }
    }

    private func prepare(_ part: PartFile, for answer: DownloadAnswer) throws(ContentDownloadError) {
        switch answer {
        case .rest: break
        case .whole(let entityTag): try part.begin(entityTag: entityTag)
        case .failed(let error): throw error
        }
    }

    private static func lost(_ error: HTTPClientError) -> ContentDownloadError {
        if Task.isCancelled || error == .cancelled { return .wasCancelled }
        let reason =
            switch error {
            case .timedOut: "the server stopped answering"
            case .connectionLost: "the connection was lost"
            case .tlsFailed: "no secure connection to the server can be made"
            case .cannotConnect, .malformedResponse, .bodyTooLarge, .cancelled, .invalidRequest,
                .failed:
                "the server cannot be reached"
            }
        return ContentDownloadError(.unreachable, "\(reason); try again")
    }
}

extension ContentDownloadError {
    static func wrongLength(_ length: Int64?, expected: Int64) -> ContentDownloadError {
        let found = length.map { "has \($0) bytes" } ?? "has more bytes"
        return ContentDownloadError(.wrongLength, "the server's file \(found); expected \(expected)")
    }
}

extension UInt8 {
    fileprivate var isLowerHexadecimal: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self) }
}
