import Foundation
import StoreWire

/// A catalog file to be loaded.
public struct CatalogFile: Sendable, Hashable {
    /// A path; a name that ends in `.yaml` or `.yml` is our own format, every other Xcode's.
    public var path: String
    /// The bundle id of a `.storekit` file's app, where it is known.
    public var bundleID: BundleID?

    /// Names a catalog file. Nothing is read yet.
    public init(path: String, bundleID: BundleID?) {
        self.path = path
        self.bundleID = bundleID
    }

    /// Whether the file is in our own format.
    public var isYAML: Bool {
        let name = path.lowercased()
        return name.hasSuffix(".yaml") || name.hasSuffix(".yml")
    }

    /// Reads the file.
    ///
    /// - Throws: ``CatalogError``.
    public func read() throws(CatalogError) -> CatalogContents {
        let bytes = try bytes()
        guard isYAML else { return try StoreKitConfigurationFile.read(bytes, file: path, bundleID: bundleID) }
        guard bundleID == nil else {
            throw error(.invalid, "names its bundle ids itself; give none for it")
        }
        return try CornerstoreCatalogFile.read(bytes, file: path)
    }

    /// The content, one byte more than a catalog may have at most, so that a larger file is refused and never read
    /// whole.
    private func bytes() throws(CatalogError) -> [UInt8] {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw error(.unreadable, "there is no such file")
        }
        guard !isDirectory.boolValue else { throw error(.unreadable, "is a directory; name the file in it") }
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw error(.unreadable, "cannot be opened; check its permissions")
        }
        defer { try? handle.close() }
        do {
            return [UInt8](try handle.read(upToCount: CatalogLimits.storeKitFile + 1) ?? Data())
        } catch {
            throw self.error(.unreadable, "cannot be read")
        }
    }

    private func error(_ code: CatalogError.Code, _ message: String) -> CatalogError {
        CatalogError(
            code: code, problems: [CatalogProblem(file: path, line: nil, column: nil, keyPath: "", message: message)]
        )
    }
}

extension Catalog {
    /// Loads files and takes their apps together.
    ///
    /// - Returns: the catalog, and notes for whoever started the store: which bundle ids were found how, and what is
    ///   likely not meant.
    /// - Throws: ``CatalogError`` with the problems of all files, under the code of the first bad one.
    public static func load(files: [CatalogFile]) throws(CatalogError) -> (catalog: Catalog, notes: [String]) {
        var (apps, notes, problems) = ([CatalogApp](), [String](), [CatalogProblem]())
        var code: CatalogError.Code?
        var origins: [BundleID: String] = [:]
        for file in files {
            do {
                let contents = try file.read()
                notes += contents.notes
                for app in contents.apps {
                    if let other = origins.updateValue(file.path, forKey: app.bundleID) {
                        code = code ?? .duplicateApp
                        problems.append(duplicate(app.bundleID, file, other))
                    }
                }
                apps += contents.apps
            } catch {
                code = code ?? error.code
                problems += error.problems
            }
        }
        if let code { throw CatalogError(code: code, problems: problems) }
        return (try Catalog(apps: apps), notes)
    }

    private static func duplicate(_ bundleID: BundleID, _ file: CatalogFile, _ other: String) -> CatalogProblem {
        let message =
            "describes the app \(bundleID), which \(other) describes already; give one of them another bundle id"
        return CatalogProblem(file: file.path, line: nil, column: nil, keyPath: "", message: message)
    }
}
