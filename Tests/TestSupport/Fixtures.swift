import Foundation

/// Real receipts, configuration files and the like, which are kept beside the package and may be absent.
public enum Fixtures {
    /// The folder: the one named by `CORNERSTORE_FIXTURES`, else `../shared/fixtures` beside the package; nil if
    /// absent.
    public static let directory: URL? = {
        let environment = ProcessInfo.processInfo.environment
        let candidates = [environment["CORNERSTORE_FIXTURES"].map { URL(fileURLWithPath: $0) }, besidePackage]
        return candidates.compactMap { $0 }.first { isDirectory($0) }
    }()

    /// A file or folder of the fixtures, such as `app-receipts/receipt.der`; nil if absent.
    public static func url(_ path: String) -> URL? {
        guard let url = directory?.appendingPathComponent(path),
            FileManager.default.fileExists(atPath: url.path)
        else { return nil }
        return url
    }

    /// A file's bytes; nil if absent.
    public static func data(_ path: String) throws -> Data? {
        try url(path).map { try Data(contentsOf: $0) }
    }

    /// The nearest `shared/fixtures` beside the package or one of the folders it is in.
    private static var besidePackage: URL? {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        for _ in 0..<3 {
            folder.deleteLastPathComponent()
            let candidate = folder.appendingPathComponent("shared/fixtures")
            if isDirectory(candidate) { return candidate }
        }
        return nil
    }

    private static func isDirectory(_ url: URL) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) && isDirectory.boolValue
    }
}
