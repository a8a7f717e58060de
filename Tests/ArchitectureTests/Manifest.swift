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
        /// Names of targets, and of modules of other packages.
        var dependencies: [String]
    }

    let targets: [Target]
    /// The targets of all library products.
    let libraryTargets: [String]
    /// The packages that the package depends on, as targets name them.
    let packages: Set<String>
    /// The packages that are left out without the trait `Servers`.
    let serverPackages: Set<String>
    /// The modules of other packages that targets may use, each with its package.
    let modules: [String: String]

    init(text: String) {
        let declaration = /\.(target|executableTarget|testTarget|systemLibrary|macro|plugin)\(\s*name:\s*"([^"]+)"/
        targets = text.matches(of: declaration).map { match in
            let body = Self.balanced(text[match.range.lowerBound...])
            return Target(
                name: String(match.2),
                folder: body.firstMatch(of: /\bpath:\s*"([^"]+)"/).map { String($0.1) }
                    ?? (match.1 == "testTarget" ? "Tests/" : "Sources/") + match.2,
                line: text[..<match.range.lowerBound].count { $0 == "\n" } + 1,
                isProgram: match.1 == "executableTarget",
                dependencies: Self.dependencies(in: body)
            )
        }
        libraryTargets = text.matches(of: /\.library\(name: "[^"]+", targets: \["([^"]+)"\]\)/).map { String($0.1) }
        packages = Set(text.matches(of: /\.package\(url: "[^"]+\/([^"\/]+)"/).map { String($0.1) })
        let server = Self.modules(of: "serverPackages", in: text)
        serverPackages = Set(server.values)
        modules = Self.modules(of: "libraryPackages", in: text).merging(server) { first, _ in first }
    }

    /// The packages that a target and the targets below it use.
    func packages(below target: String) -> Set<String> {
        var packages: Set<String> = []
        var seen: Set<String> = []
        func visit(_ name: String) {
            guard seen.insert(name).inserted, let target = targets.first(where: { $0.name == name }) else { return }
            packages.formUnion(target.dependencies.compactMap { modules[$0] })
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
        return list.matches(of: /"([^"]+)"/).map { String($0.1) }
    }

    /// The modules of a list of packages such as `["swift-log": ["Logging"]]`, each with its package.
    private static func modules(of list: String, in text: String) -> [String: String] {
        guard let start = text.firstRange(of: "let \(list) = [") else { return [:] }
        let packages = balanced(text[text.index(before: start.upperBound)...])
        var modules: [String: String] = [:]
        for package in packages.matches(of: /"([^"]+)":\s*\[([^\]]*)\]/) {
            for module in package.2.matches(of: /"([^"]+)"/) { modules[String(module.1)] = String(package.1) }
        }
        return modules
    }
}
