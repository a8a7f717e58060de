import Foundation
import Testing

@Suite("The modules keep to the design's table", .timeLimit(.minutes(1)))
struct ModuleTableTests {
    @Test func everyFolderOfSourcesHasARowAndEveryRowAModule() throws {
        let folders = Set(
            try FileManager.default.contentsOfDirectory(atPath: SourceTree.root.appending(path: "Sources").path)
                .filter { !$0.hasPrefix(".") })
        #expect(folders.contains("StoreWire"))
        #expect(Set(ModuleTable.rows.keys) == folders.union(["Examples", "cornerstore-bench"]))
    }

    @Test func noFileImportsWhatItsModuleMayNotUse() throws {
        let sources = try SourceTree.sources()
        #expect(sources.count > 10)
        for violation in sources.flatMap(Self.forbiddenImports) { Issue.record("\(violation)") }
    }

    /// SwiftPM lets a module through that only a dependency of a dependency declares; here each target, tests included,
    /// declares what it imports and nothing else. A program that a test runs is declared without an import.
    @Test func theManifestDeclaresWhatIsImportedAndNothingElse() throws {
        let manifest = Manifest(text: try SourceTree.text(of: "Package.swift"))
        #expect(manifest.targets.count > 40)
        var imports: [String: Set<String>] = [:]
        for source in try SourceTree.sources() + SourceTree.tests() {
            let target = try #require(
                manifest.target(ofFile: source.path), "\(source.path): no target in Package.swift")
            imports[target.name, default: []].formUnion(source.imports.map(\.module))
        }
        for violation in Self.differences(in: manifest, imports: imports) { Issue.record("\(violation)") }
    }

    @Test func theManifestDeclaresWhatTheTableHasAndNothingElse() throws {
        let manifest = Manifest(text: try SourceTree.text(of: "Package.swift"))
        for violation in Self.forbiddenDependencies(in: manifest) { Issue.record("\(violation)") }
        var declared: [String: Set<String>] = [:]
        for target in manifest.targets {
            guard let row = target.row else { continue }
            declared[row, default: []].formUnion(target.dependencies.filter { !SourceTree.isExample($0) })
        }
        for (name, row) in ModuleTable.rows {
            for unused in row.all.subtracting(declared[name] ?? []).sorted() {
                Issue.record("ModuleTable.swift: \(name) may use \(unused), and Package.swift does not declare it")
            }
        }
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

    /// The columns do not know one another, whatever path an import would take.
    @Test(arguments: ModuleTable.rows.keys.sorted())
    func reachesOnlyItsColumnAndTheGround(module: String) {
        let reachable = ModuleTable.reachable(from: module)
        for other in ModuleTable.rows.keys.sorted() where reachable.contains(other) {
            #expect(ModuleTable.mayReach(module, other), "\(module) reaches \(other)")
        }
    }

    @Test func onlyServersUseTheLibrariesOfAServer() {
        for (module, row) in ModuleTable.rows where !ModuleTable.servers.contains(module) {
            #expect(row.outside.isDisjoint(with: ModuleTable.serverLibraries), "\(module)")
            #expect(!ModuleTable.reachable(from: module).contains("HTTPSupport"), "\(module)")
        }
    }

    /// Promises within a column, or to the ground floor.
    @Test(arguments: [
        ("StoreKit", "Database"), ("PurchaseVault", "Database"), ("MerchantClient", "Database"),
        ("StoreReceipts", "Database"),
    ])
    func isOutOfReach(module: String, other: String) {
        #expect(!ModuleTable.reachable(from: module).contains(other))
    }

    @Test(arguments: [
        ("MerchantServer", "Database"), ("Examples", "StoreWire"), ("Store", "NIOCore"),
    ])
    func isNotUsedDirectly(module: String, other: String) throws {
        #expect(!(try #require(ModuleTable.rows[module])).all.contains(other))
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
        manifest.targets.flatMap { target -> [String] in
            guard let name = target.row else { return [] }
            guard let row = ModuleTable.rows[name] else {
                return ["Package.swift:\(target.line): \(target.name) has no row in ModuleTable.swift"]
            }
            return target.dependencies.filter { dependency in
                !row.all.contains(dependency) && !(name == "Examples" && SourceTree.isExample(dependency))
            }.map { "Package.swift:\(target.line): \(target.name) may not depend on \($0)" }
        }
    }

    /// The imports that a target does not declare, and the declarations that it does not import.
    static func differences(in manifest: Manifest, imports: [String: Set<String>]) -> [String] {
        let programs = Set(manifest.targets.filter(\.isProgram).map(\.name))
        return manifest.targets.flatMap { target -> [String] in
            let used = (imports[target.name] ?? []).subtracting(ModuleTable.everywhere)
                .subtracting(["FoundationXML", "Testing"])
            let declared = Set(target.dependencies)
            return used.subtracting(declared).sorted().map {
                "Package.swift:\(target.line): \(target.name) imports \($0) and does not declare it"
            }
                + declared.subtracting(used).subtracting(programs).sorted().map {
                    "Package.swift:\(target.line): \(target.name) declares \($0) and does not import it"
                }
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
        targets.first { path.hasPrefix($0.folder + "/") }
    }
}

extension Manifest.Target {
    /// The row of the module table that governs the target; nil for tests and what only tests use.
    var row: String? { folder.hasPrefix("Tests/") ? nil : folder.hasPrefix("Examples/") ? "Examples" : name }
}
