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
    /// - Throws: ``MissingServer``.
    public static func bucket() async throws -> (name: String, endpoint: String) {
        guard let address else { throw MissingServer() }
        let name = "test-" + String(UInt64.random(in: .min ... .max), radix: 36)
        let curl = Process()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        curl.arguments = [
            "curl", "--silent", "--fail", "--output", "/dev/null", "--request", "PUT", "\(address)/\(name)",
        ]
        try curl.run()
        curl.waitUntilExit()
        guard curl.terminationStatus == 0 else { throw MissingServer() }
        return (name, address)
    }

    /// CI runs without a server; run the tests through `scripts/with-s3`.
    public struct MissingServer: Error, CustomStringConvertible {
        public var description: String {
            "\(S3Server.variable) names no S3 server: run the tests through scripts/with-s3"
        }
    }
}
