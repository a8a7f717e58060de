import Foundation

/// Where the demonstration finds its programs and keeps its files.
struct DemoPlaces: Sendable {
    /// The store's data directory; the app's and the device's files are in it too.
    var data: URL
    private let isTemporary: Bool
    /// Whether the files stay when it is over.
    var isKept: Bool { !isTemporary }
    /// The sample app.
    var monkeyCredits: URL
    var catalog: URL
    /// Nil when it is not installed.
    var openSSL: URL?

    /// - Throws: ``CommandError`` that says what is missing.
    init(data: String?, programs: String?) throws {
        let own = try Self.ownFolder()
        let folder = programs.map { URL(fileURLWithPath: $0, isDirectory: true) } ?? own
        monkeyCredits = folder.appendingPathComponent("monkey-credits")
        guard FileManager.default.isExecutableFile(atPath: monkeyCredits.path) else {
            throw CommandError(
                .failed,
                "The sample app is not built: there is no \(monkeyCredits.path). Run “swift build --product monkey-credits”, or “make demo”."
            )
        }
        let starts = [folder, own, URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)]
        guard let catalog = starts.lazy.compactMap(Self.catalog).first else {
            throw CommandError(
                .failed,
                "Examples/MonkeyCredits/MonkeyCredits.storekit is nowhere above \(folder.path); run this in a clone of the repository."
            )
        }
        self.catalog = catalog
        openSSL = (Console.current.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").lazy
            .map { URL(fileURLWithPath: String($0), isDirectory: true).appendingPathComponent("openssl") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        isTemporary = data == nil
        self.data =
            data.map { URL(fileURLWithPath: $0, isDirectory: true).standardizedFileURL }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                "cornerstore-demo-\(UUID().uuidString.prefix(8))", isDirectory: true)
    }

    /// A path in the data directory.
    func path(_ name: String) -> URL { data.appendingPathComponent(name) }

    func removeWhatIsTemporary() {
        if isTemporary { try? FileManager.default.removeItem(at: data) }
    }

    private static func ownFolder() throws -> URL {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            throw CommandError(.failed, "The folder of this program is not known; name it with --programs.")
        }
        return URL(fileURLWithPath: path).deletingLastPathComponent()
    }

    /// The sample's catalog file in the folder or one of those it is in.
    private static func catalog(above folder: URL) -> URL? {
        var folder = folder.standardizedFileURL
        for _ in 0..<8 {
            let file = folder.appendingPathComponent("Examples/MonkeyCredits/MonkeyCredits.storekit")
            if FileManager.default.fileExists(atPath: file.path) { return file }
            folder.deleteLastPathComponent()
        }
        return nil
    }
}
