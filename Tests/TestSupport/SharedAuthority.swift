import Foundation
import StoreReceipts

/// The keys of a store, which take a second to make, once for all tests of servers; each server gets a copy.
public enum SharedAuthority {
    private static let files = Task {
        try await TemporaryDirectory.with { directory -> [String: Data] in
            let folder = directory.url.appendingPathComponent("authority")
            _ = try await CertificateAuthority.open(directory: folder, at: Date(timeIntervalSince1970: 1_770_000_000))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return try Dictionary(
                uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
        }
    }

    /// Writes them into a folder that is not there yet.
    public static func copy(to folder: URL) async throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for (name, data) in try await files.value {
            let path = folder.appendingPathComponent(name).path
            _ = FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600])
        }
    }
}
