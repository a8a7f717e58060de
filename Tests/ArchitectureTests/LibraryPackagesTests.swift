import Testing

/// An app resolves and builds every package that its libraries need. `scripts/measure-libraries` shows what that costs.
@Suite("Apps resolve only the packages that the libraries need", .timeLimit(.minutes(1)))
struct LibraryPackagesTests {
    /// The packages that the libraries use. Each brings its own dependencies: a new one is decided here first.
    static let allowed: Set = ["swift-asn1", "swift-certificates", "swift-crypto"]

    @Test func theLibrariesUseNoOtherPackage() throws {
        let manifest = Manifest(text: try SourceTree.text(of: "Package.swift"))
        #expect(manifest.libraryTargets.contains("StoreKit"))
        for library in manifest.libraryTargets {
            let used = manifest.packages(below: library)
            #expect(used.subtracting(Self.allowed).sorted() == [], "used by \(library)")
        }
    }

    /// A package that no library uses must be on the list, or apps resolve it for nothing. A package on the list that a
    /// library uses breaks apps without the trait.
    @Test func theTraitLeavesOutAllOtherPackages() throws {
        let manifest = Manifest(text: try SourceTree.text(of: "Package.swift"))
        #expect(manifest.packages.count > 10)
        let used = manifest.libraryTargets.reduce(into: Set<String>()) { $0.formUnion(manifest.packages(below: $1)) }
        #expect(manifest.serverPackages.sorted() == manifest.packages.subtracting(used).sorted())
        let named = Set(manifest.targets.flatMap(\.dependencies))
        #expect(Set(manifest.modules.keys).subtracting(named).sorted() == [], "listed, and used by no target")
    }

    @Test func packagesBelowAreFound() {
        let manifest = Manifest(
            text: """
                let libraryPackages = ["one": ["One"]]
                let serverPackages = [
                    "two": ["Two", "More"],
                ]
                let package = Package(
                    products: [.library(name: "App", targets: ["App"])],
                    dependencies: [.package(url: "https://example.com/a/one", from: "1.0.0")],
                    targets: [
                        .target(name: "App", dependencies: ["Floor"]),
                        .target(name: "Floor", dependencies: ["One"]),
                        .target(name: "Server", dependencies: ["Floor", "More"]),
                    ]
                )
                """)
        #expect(manifest.libraryTargets == ["App"])
        #expect(manifest.packages == ["one"])
        #expect(manifest.serverPackages == ["two"])
        #expect(manifest.modules == ["One": "one", "Two": "two", "More": "two"])
        #expect(manifest.packages(below: "App") == ["one"])
        #expect(manifest.packages(below: "Server") == ["one", "two"])
    }
}
