import ArgumentParser
import Foundation
import Store
import StoreWire

/// The locations of the demo's programs and files.
struct DemoPlaces: Sendable {
    /// The store's data directory. It also contains the files of the apps and devices.
    var data: URL
    private let isTemporary: Bool
    /// Whether the files are kept after the demo ends.
    var isKept: Bool { !isTemporary }
    /// The folder of the sample apps' programs.
    var programs: URL
    /// The sample items' catalog.
    private static let items = "Examples/Storefront/Items.yaml"

    /// The catalogs of the sample apps and items.
    var catalogs: [CatalogFile]
    /// The folders of Book Chapters' content.
    var content: URL
    /// The folder of Server Books: its issues, and the merchant's first list of products.
    var serverBooks: URL
    /// The merchant's products of Magazine.
    var plans: URL
    /// The files of the merchant's products.
    var merchantProducts: [URL] { [serverBooks.appendingPathComponent("Merchant.yaml"), plans] }
    /// This program.
    var ownProgram: URL
    /// The program openssl; nil when it is not installed.
    var openSSL: URL?

    /// Finds the programs and files.
    /// - Throws: ``CommandError`` that names the missing file, or the data directory when it contains a store already.
    init(data: String?, programs: String?) throws {
        let own = try Self.ownFolder()
        let folder = programs.map { URL(fileURLWithPath: $0, isDirectory: true) } ?? own
        self.programs = folder
        for sample in DemoSample.allCases {
            let program = folder.appendingPathComponent(sample.rawValue)
            guard FileManager.default.isExecutableFile(atPath: program.path) else {
                throw CommandError(
                    .failed,
                    "The sample app \(program.path) does not exist. Run “swift build --product \(sample.rawValue)” or “make demo”."
                )
            }
        }
        let starts = [folder, own, URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)]
        catalogs = try DemoSample.allCases.map { sample in
            guard let file = starts.lazy.compactMap({ Self.file(sample.catalog, above: $0) }).first else {
                throw CommandError(
                    .failed,
                    "Cannot find \(sample.catalog) above \(folder.path). Run this command in a clone of the repository."
                )
            }
            // A YAML catalog contains its apps' bundle ids.
            let bundleID = file.pathExtension == "storekit" ? BundleID(sample.bundleID) : nil
            return CatalogFile(path: file.path, bundleID: bundleID)
        }
        guard let items = starts.lazy.compactMap({ Self.file(Self.items, above: $0) }).first else {
            throw CommandError(
                .failed,
                "Cannot find \(Self.items) above \(folder.path). Run this command in a clone of the repository.")
        }
        catalogs.append(CatalogFile(path: items.path, bundleID: nil))
        let book = starts.lazy.compactMap { Self.file(DemoSample.bookChapters.catalog, above: $0) }.first
        content = (book ?? own).deletingLastPathComponent().appendingPathComponent("Content", isDirectory: true)
        let books = starts.lazy.compactMap { Self.file(DemoSample.serverBooks.catalog, above: $0) }.first
        serverBooks = (books ?? own).deletingLastPathComponent()
        let magazine = starts.lazy.compactMap { Self.file(DemoSample.magazine.catalog, above: $0) }.first
        plans = (magazine ?? own).deletingLastPathComponent().appendingPathComponent("Merchant.yaml")
        ownProgram = try Self.ownProgram()
        openSSL = (Console.current.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").lazy
            .map { URL(fileURLWithPath: String($0), isDirectory: true).appendingPathComponent("openssl") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        isTemporary = data == nil
        self.data =
            data.map { URL(fileURLWithPath: $0, isDirectory: true).standardizedFileURL }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                "cornerstore-demo-\(UUID().uuidString.prefix(8))", isDirectory: true)
        // The steps buy things that can be bought once, and count on the usual clock.
        guard !FileManager.default.fileExists(atPath: path("databases").path) else {
            throw CommandError(
                .usage,
                "\(self.data.path) contains a store already, and the demo needs a new one. Give another directory with --data, or none."
            )
        }
    }

    /// Returns the URL of a file in the data directory.
    func path(_ name: String) -> URL { data.appendingPathComponent(name) }

    func removeWhatIsTemporary() {
        if isTemporary { try? FileManager.default.removeItem(at: data) }
    }

    private static func ownProgram() throws -> URL {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            throw CommandError(.failed, "Cannot find this program's directory. Give it with --programs.")
        }
        return URL(fileURLWithPath: path)
    }

    private static func ownFolder() throws -> URL { try ownProgram().deletingLastPathComponent() }

    /// Returns the program of a sample app.
    func program(_ sample: DemoSample) -> URL { programs.appendingPathComponent(sample.rawValue) }

    /// Finds a file of the repository, by its path relative to the folder or to one of the folders above.
    private static func file(_ name: String, above folder: URL) -> URL? {
        var folder = folder.standardizedFileURL
        for _ in 0..<8 {
            let file = folder.appendingPathComponent(name)
            if FileManager.default.fileExists(atPath: file.path) { return file }
            folder.deleteLastPathComponent()
        }
        return nil
    }
}

/// The sample apps, by the names of their programs.
enum DemoSample: String, CaseIterable, Sendable, ExpressibleByArgument {
    case monkeyCredits = "monkey-credits"
    case photoFilters = "photo-filters"
    case bookChapters = "book-chapters"
    case serverBooks = "server-books"
    case crossPromotion = "cross-promotion"
    case magazine

    var bundleID: String {
        switch self {
        case .monkeyCredits: "com.example.monkeys"
        case .photoFilters: "com.example.photofilters"
        case .bookChapters: "com.example.bookchapters"
        case .serverBooks: "com.example.serverbooks"
        case .crossPromotion: "com.example.crosspromotion"
        case .magazine: "com.example.magazine"
        }
    }

    /// The path of the app's catalog in the repository.
    var catalog: String {
        switch self {
        case .monkeyCredits: "Examples/MonkeyCredits/MonkeyCredits.storekit"
        case .photoFilters: "Examples/PhotoFilters/PhotoFilters.storekit"
        case .bookChapters: "Examples/BookChapters/BookChapters.yaml"
        case .serverBooks: "Examples/ServerBooks/ServerBooks.yaml"
        case .crossPromotion: "Examples/CrossPromotion/CrossPromotion.yaml"
        case .magazine: "Examples/Magazine/Magazine.yaml"
        }
    }
}
