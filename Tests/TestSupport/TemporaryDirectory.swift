import Foundation

/// A directory that is there for one test.
public struct TemporaryDirectory: Sendable {
    /// Where it is.
    public let url: URL

    /// The path of a file in it.
    public func path(_ name: String) -> String {
        url.appendingPathComponent(name).path
    }

    /// Makes a directory, runs a test with it, and removes it with all it holds.
    public static func with<T>(_ body: (TemporaryDirectory) async throws -> T) async throws -> T {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("cornerstore-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(at: url) }
        return try await body(TemporaryDirectory(url: url))
    }
}
