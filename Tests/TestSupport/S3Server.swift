import AsyncHTTPClient
import Foundation

/// The S3 server that tests may make buckets on.
public enum S3Server {
    /// The environment variable with its address.
    public static let variable = "CORNERSTORE_TEST_S3"

    /// The server's address, when there is one.
    public static var address: String? { ProcessInfo.processInfo.environment[variable] }

    /// Whether tests of it run. They are left out when no server is named, except in CI, where that must be a failure.
    public static var isTested: Bool { address != nil || ProcessInfo.processInfo.environment["CI"] == "true" }

    /// A bucket of its own for one test. The server forgets everything when it ends.
    /// - Throws: ``MissingServer``, ``RefusedBucket``, or `HTTPClientError` when the server does not answer.
    public static func bucket() async throws -> (name: String, endpoint: String) {
        guard let address else { throw MissingServer() }
        let name = "test-" + String(UInt64.random(in: .min ... .max), radix: 36)
        var request = HTTPClientRequest(url: "\(address)/\(name)")
        request.method = .PUT
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        guard response.status == .ok else { throw RefusedBucket(address: address, status: response.status.code) }
        return (name, address)
    }

    /// The server did not make the bucket.
    struct RefusedBucket: Error, CustomStringConvertible {
        let address: String
        let status: UInt
        var description: String { "the S3 server at \(address) refused to make a bucket: HTTP status \(status)" }
    }

    /// CI runs without a server; run the tests through `scripts/with-s3`.
    public struct MissingServer: Error, CustomStringConvertible {
        /// Names the missing variable and the script that sets it.
        public var description: String {
            "\(S3Server.variable) names no S3 server: run the tests through scripts/with-s3"
        }
    }
}
