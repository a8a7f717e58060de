import Testing

@Suite("The checks themselves find what they look for", .timeLimit(.minutes(1)))
struct CheckerTests {
    @Test(arguments: [
        ("let x = try! f()", 1), ("let x = y as! Int", 1), ("fatalError(\"no\")", 1), ("preconditionFailure()", 1),
        ("let x = y!", 1), ("let x = y![0]", 1), ("f(a)!.b", 1), ("var label: Text!", 1), ("precondition(x > 0)", 1),
        ("final class A: @unchecked Sendable {}", 1), ("// counts only\nfinal class A: @unchecked Sendable {}", 1),
        ("// Guarded by `lock`.\nfinal class A: @unchecked Sendable {}", 0),
        ("/// Guarded by the mutex.\n@frozen\nfinal class A: @unchecked Sendable {}", 0),
        ("// @unchecked: all is constant.\nfinal class A: @unchecked Sendable {}", 0), ("let x = a != b", 0),
        ("let x = !y", 0), ("if !a, !(b) {}", 0), ("// try! is not used", 0),
        ("let x = \"stop!\"", 0),
        ("let x = \"try! \\(y) fatalError(\"", 0), ("let x = \"\\(y!)\"", 1), ("let x = #\"a \"quoted\"! \\(y!)\"#", 0),
        ("/* try! /* as! */ fatalError( */ let x = 1", 0), ("let x = \"\"\"\n    a \"b\"!\n    \"\"\"", 0),
        ("static let url = URL(string: text)!", 0), ("let x = \"\\\"\" + y!", 1),
    ])
    func rule(text: String, count: Int) {
        #expect(CodeRules.violations(in: SwiftSource(path: "Sources/Store/A.swift", text: text)).count == count)
    }

    @Test func preconditionIsForStoreKitWithAComment() {
        let bare = SwiftSource(path: "Sources/StoreKit/A.swift", text: "precondition(x)")
        let explained = SwiftSource(path: "Sources/StoreKit/A.swift", text: "// It traps, as Apple's.\nprecondition(x)")
        let elsewhere = SwiftSource(path: "Sources/Store/A.swift", text: "// It traps, as Apple's.\nprecondition(x)")
        #expect(CodeRules.traps(in: bare).count == 1)
        #expect(CodeRules.traps(in: explained).isEmpty)
        #expect(CodeRules.traps(in: elsewhere).count == 1)
    }

    @Test func lengthIsCountedInLines() {
        let longest = String(repeating: "\n", count: CodeRules.longestFile)
        #expect(CodeRules.length(of: SwiftSource(path: "A.swift", text: longest)).isEmpty)
        #expect(CodeRules.length(of: SwiftSource(path: "A.swift", text: longest + "x")).count == 1)
    }

    @Test(arguments: [
        ("@Suite(.timeLimit(.minutes(1))) struct A {\n    @Test func b() {}\n}", 0),
        ("@Suite(\"A, {\", .serialized, .timeLimit(.minutes(1)))\nstruct A {\n    @Test func b() {}\n}", 0),
        ("@Suite struct A {\n    @Test func b() {}\n}", 1), ("struct A {\n    @Test func b() {}\n}", 1),
        (
            "@Suite(.timeLimit(.minutes(1))) struct A {\n    @Test func b() {}\n}\nstruct B {\n    @Test func c() {}\n}",
            1
        ),
        ("@Suite(.timeLimit(.minutes(2))) struct A {\n    @Test func b() {}\n}", 2),
        ("struct A {\n    @Test(.timeLimit(.minutes(1))) func b() {}\n}", 1), ("struct A {\n    func test() {}\n}", 0),
    ])
    func timeLimit(text: String, count: Int) {
        #expect(CodeRules.timeLimits(in: SwiftSource(path: "Tests/A.swift", text: text)).count == count)
    }

    @Test(arguments: [
        ("import Store", ["Store"]), ("@testable import Store", ["Store"]), ("public import Store", ["Store"]),
        ("@_spi(Inside) @preconcurrency import Store", ["Store"]), ("import struct Store.Purchase", ["Store"]),
        ("import Store.Inner", ["Store"]), ("    import Store // why", ["Store"]), ("// import Store", []),
        ("let x = \"\"\"\nimport Store\n\"\"\"", []),
        ("#if os(Linux)\nimport Glibc\n#endif\nimport Store", ["Glibc", "Store"]),
        ("/*\nimport Store\n*/", []), ("let imports = 1", []),
    ])
    func imports(text: String, modules: [String]) {
        #expect(SwiftSource(path: "A.swift", text: text).imports.map(\.module) == modules)
    }

    @Test func aForbiddenImportIsNamedWithItsLine() {
        let merchant = SwiftSource(
            path: "Sources/Merchant/A.swift", text: "import Foundation\nimport Store\nimport Database\n")
        #expect(
            ModuleTableTests.forbiddenImports(in: merchant)
                == ["Sources/Merchant/A.swift:2: Merchant may not import Store"]
        )
        let stranger = SwiftSource(path: "Sources/Unheard/A.swift", text: "")
        #expect(ModuleTableTests.forbiddenImports(in: stranger).count == 1)
    }

    @Test func theManifestIsReadWithItsDependencies() throws {
        let manifest = Manifest(
            text: """
                targets: [
                    .target(name: "Store", dependencies: [
                        "Database", "Hummingbird", "StoreWire",
                    ], exclude: ["Notes"]),
                    .executableTarget(name: "Unheard", path: "Elsewhere"),
                    .testTarget(name: "StoreTests", dependencies: ["StoreServer"]),
                ]
                """
        )
        #expect(manifest.targets.map(\.name) == ["Store", "Unheard", "StoreTests"])
        #expect(manifest.targets[0].dependencies == ["Database", "Hummingbird", "StoreWire"])
        #expect(manifest.targets.map(\.folder) == ["Sources/Store", "Elsewhere", "Tests/StoreTests"])
        #expect(
            ModuleTableTests.forbiddenDependencies(in: manifest) == [
                "Package.swift:2: Store may not depend on Hummingbird",
                "Package.swift:5: Unheard has no row in ModuleTable.swift",
            ]
        )
    }

    @Test func aDependencyWithoutAnImportIsNamedAndAnImportWithoutADependency() {
        let manifest = Manifest(
            text: """
                targets: [
                    .target(name: "Store", dependencies: ["Database", "StoreWire", "store-program"]),
                    .executableTarget(name: "store-program"),
                ]
                """)
        #expect(
            ModuleTableTests.differences(
                in: manifest, imports: ["Store": ["Foundation", "StoreWire", "Yams"], "store-program": []])
                == [
                    "Package.swift:2: Store imports Yams and does not declare it",
                    "Package.swift:2: Store declares Database and does not import it",
                ])
    }

    @Test(arguments: [
        ("Store", "Merchant", false), ("StoreKit", "StoreServer", false), ("Merchant", "StoreWire", true),
        ("StoreWire", "Store", false), ("MerchantServer", "Merchant", true), ("cornerstore", "Merchant", true),
        ("Store", "cornerstore", false),
    ])
    func columnsAreApart(module: String, other: String, isAllowed: Bool) {
        #expect(ModuleTable.mayReach(module, other) == isAllowed)
    }
}
