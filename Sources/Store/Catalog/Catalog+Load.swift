import Foundation
import StoreWire

/// The name of a catalog file to load.
public struct CatalogFile: Sendable, Hashable {
    /// The file's path. Files that end in `.yaml` or `.yml` have our own format, all others have Xcode's.
    public var path: String
    /// The bundle id of a `.storekit` file's app; nil when it is not known.
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
            throw error(.invalid, "contains its own bundle ids; do not give one for it")
        }
        return try CornerstoreCatalogFile.read(bytes, file: path)
    }

    /// The line on which the file describes a product, from 1; nil when the file cannot be read, has changed, or writes
    /// the identifier in another way than on the line of its key.
    public func line(of productID: ProductID) -> Int? {
        guard let text = (try? bytes()).map({ String(decoding: $0, as: UTF8.self) }) else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.firstIndex { line in
            line.ranges(of: "productID").contains { key in
                let value = line[key.upperBound...].drop { "\"': \t".contains($0) }
                return String(value.prefix { !"\"', \t\r}".contains($0) }).hasSameBytes(as: productID.rawValue)
            }
        }.map { $0 + 1 }
    }

    /// The file's content, limited to one byte more than the maximum. A larger file is then refused without reading all
    /// of it.
    private func bytes() throws(CatalogError) -> [UInt8] {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw error(.unreadable, "the file does not exist")
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
    /// Loads files and combines their apps and items in one catalog.
    ///
    /// - Returns: the catalog, and notes for the operator: the origin of each bundle id, and probable mistakes.
    /// - Throws: ``CatalogError`` with the problems of all files and the code of the first invalid file.
    public static func load(files: [CatalogFile]) throws(CatalogError) -> (catalog: Catalog, notes: [String]) {
        var (apps, items) = ([CatalogApp](), [CatalogItem]())
        var (notes, problems) = ([String](), [CatalogProblem]())
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
                items += contents.items
            } catch {
                code = code ?? error.code
                problems += error.problems
            }
        }
        if let code { throw CatalogError(code: code, problems: problems) }
        return (try Catalog(apps: apps, items: items).read(from: origins), notes)
    }

    private static func duplicate(_ bundleID: BundleID, _ file: CatalogFile, _ other: String) -> CatalogProblem {
        let message =
            "describes the app \(bundleID), which \(other) describes already; give one of them another bundle id"
        return CatalogProblem(file: file.path, line: nil, column: nil, keyPath: "", message: message)
    }
}
