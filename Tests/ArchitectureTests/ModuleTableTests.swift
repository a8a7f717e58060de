import Foundation
import Testing

@Suite("The modules keep to the design's table", .timeLimit(.minutes(1)))
struct ModuleTableTests {
    @Test func everyFolderOfSourcesHasARow() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: SourceTree.root.appending(path: "Sources").path)
        #expect(folders.contains("StoreWire"))
        for folder in folders where !folder.hasPrefix(".") && ModuleTable.rows[folder] == nil {
            Issue.record("Sources/\(folder): no row in ModuleTable.swift says what it may use")
        }
    }

    @Test func noFileImportsWhatItsModuleMayNotUse() throws {
        let sources = try SourceTree.sources()
        #expect(sources.count > 10)
        for violation in sources.flatMap(Self.forbiddenImports) { Issue.record("\(violation)") }
    }

    /// SwiftPM lets a module through that only a dependency of a dependency declares; here each target declares what it
    /// imports.
    @Test func everyImportIsDeclaredInTheManifest() throws {
        let manifest = Manifest(text: try SourceTree.text(of: "Package.swift"))
        for source in try SourceTree.sources() {
            let target = try #require(
                manifest.target(ofFile: source.path), "\(source.path): no target in Package.swift")
            for found in source.imports
            where !ModuleTable.everywhere.union(["FoundationXML"]).contains(found.module)
                && !target.dependencies.contains(found.module)
            {
                Issue.record(
                    "\(source.path):\(found.line): \(target.name) does not declare \(found.module) in Package.swift")
            }
        }
    }

    @Test func theManifestDeclaresOnlyWhatTheTableAllows() throws {
        let manifest = Manifest(text: try SourceTree.text(of: "Package.swift"))
        #expect(manifest.targets.count > 10)
        for violation in Self.forbiddenDependencies(in: manifest) { Issue.record("\(violation)") }
    }

    @Test func theArrowsOfTheTableOnlyPointDown() {
        var finished: Set<String> = []
        func visit(_ module: String, path: [String]) {
            if path.contains(module) { Issue.record("a circle: \((path + [module]).joined(separator: " → "))") }
            guard !path.contains(module), !finished.contains(module), let row = ModuleTable.rows[module] else { return }
            for next in row.own.sorted() { visit(next, path: path + [module]) }
            finished.insert(module)
        }
        for module in ModuleTable.rows.keys.sorted() { visit(module, path: []) }
    }

    /// What the columns promise one another, whatever else is changed in the table.
    @Test(arguments: [
        ("Merchant", "Store"), ("MerchantServer", "Store"), ("MerchantServer", "StoreServer"), ("Store", "Merchant"),
        ("StoreServer", "Merchant"), ("StoreKit", "Store"), ("StoreKit", "Database"), ("Store", "Hummingbird"),
        ("Store", "NIOCore"), ("Store", "HTTPTypes"), ("Merchant", "Hummingbird"), ("StoreReceipts", "Database"),
        ("StoreServer", "Database"), ("Examples", "StoreWire"),
    ])
    func isOutOfReach(module: String, other: String) throws {
        var reachable: Set<String> = []
        func visit(_ name: String) {
            for next in ModuleTable.rows[name]?.own ?? [] where reachable.insert(next).inserted { visit(next) }
        }
        let row = try #require(ModuleTable.rows[module])
        #expect(!row.all.contains(other))
        // A server reaches the database through its domain; the columns do not reach one another at all.
        guard ["Store", "Merchant", "StoreServer", "MerchantServer"].contains(other) else { return }
        visit(module)
        #expect(!reachable.contains(other))
    }

    @Test func spiIsImportedInOneFileAtMost() throws {
        var files: [String: Set<String>] = [:]
        for source in try SourceTree.sources() {
            for found in source.imports where found.attributes.contains("@_spi") {
                files[found.module, default: []].insert(source.path)
            }
        }
        for (module, paths) in files where paths.count > 1 {
            Issue.record("\(paths.sorted().joined(separator: ", ")): @_spi import of \(module) in more than one file")
        }
    }

    static func forbiddenImports(in source: SwiftSource) -> [String] {
        guard let name = ModuleTable.rowName(ofFile: source.path) else {
            return ["\(source.path): belongs to no module"]
        }
        guard let row = ModuleTable.rows[name] else {
            return ["\(source.path): \(name) has no row in ModuleTable.swift"]
        }
        return source.imports.compactMap { found in
            if ModuleTable.everywhere.contains(found.module) || row.all.contains(found.module) { return nil }
            if name == "Examples", ModuleTable.rows[found.module] == nil, SourceTree.isExample(found.module) {
                return nil
            }
            return "\(source.path):\(found.line): \(name) may not import \(found.module)"
        }
    }

    static func forbiddenDependencies(in manifest: Manifest) -> [String] {
        manifest.targets.filter { !$0.isTest && $0.path?.hasPrefix("Tests/") != true }.flatMap { target -> [String] in
            let isExample = target.path?.hasPrefix("Examples/") == true
            guard let row = ModuleTable.rows[isExample ? "Examples" : target.name] else {
                return ["Package.swift:\(target.line): \(target.name) has no row in ModuleTable.swift"]
            }
            return target.dependencies.filter { name in
                !row.all.contains(name) && !(isExample && SourceTree.isExample(name))
            }.map { "Package.swift:\(target.line): \(target.name) may not depend on \($0)" }
        }
    }
}

extension SourceTree {
    /// Whether `module` is one of the samples' libraries.
    static func isExample(_ module: String) -> Bool {
        var isFolder: ObjCBool = false
        let path = root.appending(path: "Examples/\(module)").path
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
}

extension Manifest {
    /// The target whose folder holds the file.
    func target(ofFile path: String) -> Target? {
        targets.first { path.hasPrefix(($0.path ?? "Sources/\($0.name)") + "/") }
    }
}
