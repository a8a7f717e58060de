/// What `Package.swift` says of its targets, read from its text: asking SwiftPM would wait for the very `swift test`
/// that runs this.
struct Manifest {
    struct Target {
        var name: String
        /// The folder of its files.
        var folder: String
        var line: Int
        /// Whether it is an executable.
        var isProgram: Bool
        /// Names of targets and products.
        var dependencies: [String]
        /// The packages of these products.
        var packages: Set<String>
    }

    let targets: [Target]
    /// The targets of all library products.
    let libraryTargets: [String]
    /// The packages that the package depends on, as targets name them.
    let packages: Set<String>
    /// The packages that are left out without the trait `Servers`.
    let serverPackages: Set<String>

    init(text: String) {
        let declaration = /\.(target|executableTarget|testTarget|systemLibrary|macro|plugin)\(\s*name:\s*"([^"]+)"/
        var found: [Target] = []
        // A `.target(name:)` inside another one is a dependency.
        var end = text.startIndex
        for match in text.matches(of: declaration) where match.range.lowerBound >= end {
            let body = Self.balanced(text[match.range.lowerBound...])
            end = body.endIndex
            found.append(
                Target(
                    name: String(match.2),
                    folder: body.firstMatch(of: /\bpath:\s*"([^"]+)"/).map { String($0.1) }
                        ?? (match.1 == "testTarget" ? "Tests/" : "Sources/") + match.2,
                    line: text[..<match.range.lowerBound].count { $0 == "\n" } + 1,
                    isProgram: match.1 == "executableTarget",
                    dependencies: Self.dependencies(in: body),
                    packages: Set(body.matches(of: /\bpackage:\s*"([^"]+)"/).map { String($0.1) })
                )
            )
        }
        targets = found
        libraryTargets = text.matches(of: /\.library\(name: "[^"]+", targets: \["([^"]+)"\]\)/).map { String($0.1) }
        packages = Set(text.matches(of: /\.package\(url: "[^"]+\/([^"\/]+)"/).map { String($0.1) })
        serverPackages =
            text.firstMatch(of: /let serverPackages: Set = \[([^\]]+)\]/).map { list in
                Set(list.1.matches(of: /"([^"]+)"/).map { String($0.1) })
            } ?? []
    }

    /// The packages that a target and the targets below it use.
    func packages(below target: String) -> Set<String> {
        var packages: Set<String> = []
        var seen: Set<String> = []
        func visit(_ name: String) {
            guard seen.insert(name).inserted, let target = targets.first(where: { $0.name == name }) else { return }
            packages.formUnion(target.packages)
            target.dependencies.forEach(visit)
        }
        visit(target)
        return packages
    }

    /// From the text's first opening parenthesis or bracket to the one that closes it.
    private static func balanced(_ text: Substring) -> Substring {
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case "(", "[": depth += 1
            case ")", "]":
                depth -= 1
                if depth == 0 { return text[...index] }
            default: break
            }
        }
        return text
    }

    private static func dependencies(in body: Substring) -> [String] {
        guard let start = body.firstMatch(of: /\bdependencies:\s*\[/) else { return [] }
        let list = balanced(body[body.index(before: start.range.upperBound)...])
        let entry = /\.(?:product|target|byName)\(\s*name:\s*"([^"]+)"[^)]*\)|"([^"]+)"/
        return list.matches(of: entry).compactMap { ($0.1 ?? $0.2).map(String.init) }
    }
}
