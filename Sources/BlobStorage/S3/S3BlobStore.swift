import AsyncHTTPClient
import CornerstoreEncoding
import Foundation
import NIOCore

/// Keeps blobs as objects in a bucket, named by their digests. Downloads use presigned addresses and go straight to the
/// bucket.
public struct S3BlobStore: BlobStore {
    /// How often a request is tried that fails temporarily, and the pause before the second attempt. Each further pause
    /// is twice as long.
    static let attempts = 4
    static let firstPause = Duration.milliseconds(200)
    /// The time limit of an upload of at most 2 GB. All other requests have the limit ``timeout``.
    static let uploadTimeout = TimeAmount.minutes(60)
    static let timeout = TimeAmount.seconds(30)

    private let location: S3Location
    private let signature: S3Signature
    private let now: @Sendable () -> Date

    /// The client fails at once when nobody listens, because ``attempts`` are made here. It lives as long as the
    /// process.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(10)
        configuration.timeout.read = .seconds(60)
        configuration.redirectConfiguration = .disallow
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Creates a store for a bucket.
    /// - Parameter now: the machine's clock, which the bucket's server compares with its own.
    public init(_ location: S3Location, now: @escaping @Sendable () -> Date) {
        self.location = location
        self.now = now
        signature = S3Signature(
            accessKeyID: location.accessKeyID, secretAccessKey: location.secretAccessKey, region: location.region)
    }

    /// Stores a file's bytes as an object, and checks the object's size.
    /// - Throws: ``BlobError``.
    public func put(_ file: URL, as digest: BlobDigest) async throws {
        let opened = try await BlobThreads.run { try BlobFile(file) }
        // The server never stores part of an object. An object of another length is not one that this store wrote.
        if try await size(of: digest) == opened.size { return }
        let bytes = try opened.bytes(in: 0..<opened.size)
        // The server compares the bytes with the signed hash.
        let response = try await send("PUT", digest, payloadHash: digest.hexadecimal, timeout: Self.uploadTimeout) {
            $0.headers.add(name: "Content-Type", value: "application/octet-stream")
            $0.body = .stream(bytes, length: .known(opened.size))
        }
        try await Self.check(response, "store an object")
        guard try await size(of: digest) == opened.size else {
            throw BlobError(.refused, "The bucket does not contain the object that was stored.")
        }
    }

    /// The size of the object in bytes; nil when the bucket does not hold it.
    /// - Throws: ``BlobError``.
    public func size(of digest: BlobDigest) async throws -> Int64? {
        let response = try await send("HEAD", digest)
        if response.status == .notFound { return nil }
        try await Self.check(response, "describe an object")
        guard let size = response.headers.first(name: "Content-Length").flatMap({ Int64($0) }) else {
            throw BlobError(.refused, "The bucket does not report an object's size.")
        }
        return size
    }

    /// The bytes of a range of the object.
    /// - Throws: ``BlobError``, such as `notFound` or `invalidRange`.
    public func bytes(of digest: BlobDigest, in range: Range<Int64>) async throws -> BlobBytes {
        guard range.lowerBound >= 0, !range.isEmpty else {
            throw BlobError(.invalidRange, "The range begins before the bytes, or is empty.")
        }
        let response = try await send("GET", digest) {
            $0.headers.add(name: "Range", value: "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
        }
        switch response.status {
        case .notFound: throw BlobError(.notFound, "No object has this digest.")
        case .rangeNotSatisfiable: throw BlobError(.invalidRange, "The range is not in the object.")
        default: try await Self.check(response, "return an object")
        }
        guard response.status == .partialContent,
            response.headers.first(name: "Content-Length") == String(range.upperBound - range.lowerBound)
        else { throw BlobError(.invalidRange, "The bucket did not return the requested range.") }
        return BlobBytes(source: .response(response.body))
    }

    /// Removes the object.
    /// - Throws: ``BlobError``.
    public func remove(_ digest: BlobDigest) async throws {
        let response = try await send("DELETE", digest)
        if response.status != .notFound { try await Self.check(response, "remove an object") }
    }

    /// A presigned address, which is valid for 1 second to 7 days.
    public func address(of digest: BlobDigest, seconds: Int) -> String? {
        let request = S3Signature.Request(
            method: "GET", path: path(digest), headers: [("host", location.host)],
            payloadHash: S3Signature.unsignedPayload)
        let query = signature.presignedQuery(
            request, at: now(), seconds: min(max(seconds, 1), 604_800), sessionToken: location.sessionToken)
        return "\(location.endpoint)\(path(digest))?\(query)"
    }

    // MARK: Requests

    private func path(_ digest: BlobDigest) -> String {
        "/" + "\(location.bucket)/\(location.prefix)\(digest)".utf8.percentEncoded(keeping: .unreserved.adding("/"))
    }

    /// Sends a request, and repeats it when it fails temporarily.
    /// - Throws: ``BlobError`` `unavailable`.
    private func send(
        _ method: String, _ digest: BlobDigest, payloadHash: String = S3Signature.unsignedPayload,
        timeout: TimeAmount = timeout, _ change: (inout HTTPClientRequest) -> Void = { _ in }
    ) async throws -> HTTPClientResponse {
        var pause = Self.firstPause
        for attempt in 1...Self.attempts {
            var request = signed(method, digest, payloadHash)
            change(&request)
            do {
                let response = try await Self.client.execute(request, timeout: timeout)
                guard Self.isPassing(response.status.code), attempt < Self.attempts else { return response }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                guard attempt < Self.attempts, !Task.isCancelled else {
                    throw BlobError(.unavailable, "The bucket at \(location.endpoint) does not answer.")
                }
            }
            try await Task.sleep(for: pause)
            pause *= 2
        }
        throw BlobError(.unavailable, "The bucket at \(location.endpoint) does not answer.")
    }

    private func signed(_ method: String, _ digest: BlobDigest, _ payloadHash: String) -> HTTPClientRequest {
        let (date, path) = (now(), path(digest))
        var headers = [
            ("host", location.host), ("x-amz-content-sha256", payloadHash), ("x-amz-date", S3Signature.time(date)),
        ]
        if let token = location.sessionToken { headers.append(("x-amz-security-token", token)) }
        let authorization = signature.authorization(
            S3Signature.Request(method: method, path: path, headers: headers, payloadHash: payloadHash), at: date)
        var request = HTTPClientRequest(url: location.endpoint + path)
        request.method = .init(rawValue: method)
        for (name, value) in headers where name != "host" { request.headers.add(name: name, value: value) }
        request.headers.add(name: "Authorization", value: authorization)
        return request
    }

    /// Whether the status is temporary: a timeout, too many requests, or an error of the server.
    static func isPassing(_ status: UInt) -> Bool { status == 408 || status == 429 || status >= 500 }

    private static func check(_ response: HTTPClientResponse, _ what: String) async throws {
        let status = response.status.code
        guard !(200..<300).contains(status) else { return }
        // Only the error's code is shown, such as SignatureDoesNotMatch; the rest of the body may repeat what was
        // signed.
        let body = try? await response.body.collect(upTo: 64 << 10)
        let text = body.map { String(decoding: $0.readableBytesView, as: UTF8.self) } ?? ""
        let word = text.firstMatch(of: /<Code>([A-Za-z]{1,64})<\/Code>/).map { " (\($0.1))" } ?? ""
        throw BlobError(
            isPassing(status) ? .unavailable : .refused, "The bucket does not \(what): HTTP \(status)\(word).")
    }
}
