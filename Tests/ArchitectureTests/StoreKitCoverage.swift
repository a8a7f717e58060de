import Foundation

/// Compares Apple's symbols with what `Sources/StoreKit` declares, and writes the page about it.
struct StoreKitCoverage {
    /// Where the page is.
    static let path = "Documentation/StoreKitCoverage.md"

    private let symbols: [StoreKitSymbols.Symbol]
    private let declared: [String: PublicDeclarations.Declaration]
    private let declarations: [PublicDeclarations.Declaration]

    init(_ symbols: [StoreKitSymbols.Symbol], _ sources: [SwiftSource]) {
        self.symbols = symbols
        declarations = sources.flatMap { PublicDeclarations($0).declarations }
        declared = Dictionary(
            declarations.map { (Self.key($0.container, $0.text), $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func key(_ container: String?, _ text: String) -> String {
        // A nested type stands in the list under its whole name.
        if let container, let match = text.wholeMatch(of: /(class|struct|enum|protocol) ([A-Za-z]+)(.*)/) {
            return " | \(match.1) \(container).\(match.2)\(match.3)"
        }
        return "\(container ?? "") | \(text)"
    }

    private func declaration(of symbol: StoreKitSymbols.Symbol) -> PublicDeclarations.Declaration? {
        declared[Self.key(symbol.container, symbol.canonical)]
    }

    /// What is wrong: a symbol that is missing, one that is said to be absent and is there, and a public declaration
    /// under one of Apple's names that is not Apple's.
    var problems: [String] {
        var problems: [String] = []
        for symbol in symbols where !symbol.canonical.hasPrefix("extension ") {
            let name = "\(symbol.container.map { "\($0)." } ?? "")\(symbol.declaration)"
            let found = declaration(of: symbol)
            if case .absent = symbol.remark {
                if let found { problems.append("\(found.path):\(found.line): the list says absent: \(name)") }
            } else if found == nil {
                problems.append("Sources/StoreKit declares no \(name)")
            }
        }
        let known = Set(symbols.map { Self.key($0.container, $0.canonical) })
        let containers = Set(symbols.compactMap(\.type))
        for declaration in declarations
        where !declaration.isOverride && !Self.isBridging(declaration) && !Self.isOurs(declaration) {
            let isApples = declaration.container.map(containers.contains) ?? declaration.text.contains(/^\w+ SK/)
            guard isApples, !known.contains(Self.key(declaration.container, declaration.text)) else { continue }
            let name = "\(declaration.container.map { "\($0)." } ?? "")\(declaration.text)"
            problems.append("\(declaration.path):\(declaration.line): not in the list of Apple's symbols: \(name)")
        }
        return problems
    }

    /// What makes `SKError` an `NSError`'s bridge, which Apple's importer makes unseen.
    private static func isBridging(_ declaration: PublicDeclarations.Declaration) -> Bool {
        guard declaration.container?.hasPrefix("SKError") == true else { return false }
        return declaration.text.contains("_") || declaration.text.contains(/^static var \w+: Code$/)
    }

    /// What this project adds to Apple's types stands in files of its own.
    private static func isOurs(_ declaration: PublicDeclarations.Declaration) -> Bool {
        declaration.path.hasSuffix("+Cornerstore.swift")
    }

    // MARK: The page

    private func state(of symbol: StoreKitSymbols.Symbol) -> String {
        if case .absent(let reason) = symbol.remark { return "absent: \(reason)" }
        guard let found = declaration(of: symbol) else { return "missing" }
        if let message = found.unavailable { return "unavailable: \(message)" }
        switch symbol.remark {
        case .note(let text): return "works; \(text)"
        case .none, .absent: return "works"
        }
    }

    /// The page's whole text.
    var page: String {
        let listed = symbols.filter { !$0.canonical.hasPrefix("extension ") }
        let states = listed.map { ($0, state(of: $0)) }
        func count(_ prefix: String) -> Int { states.count { $0.1.hasPrefix(prefix) } }
        var lines = [
            "# StoreKit's original API, symbol by symbol",
            "",
            "Made by `make pages` from `Tests/ArchitectureTests/StoreKitSymbols.swift` and the declarations in `Sources/StoreKit`; a test",
            "fails when it is stale. [Divergences](Divergences.md) describes how the behaviour differs.",
            "",
            "| state | symbols |",
            "|---|---|",
            "| works | \(count("works")) |",
            "| unavailable: the compiler says why | \(count("unavailable")) |",
            "| absent, with the reason | \(count("absent")) |",
        ]
        var section: String?
        for symbol in symbols {
            let title = symbol.container ?? symbol.type ?? "Constants and functions"
            if title != section {
                lines += ["", "## \(title)", "", "| symbol | state |", "|---|---|"]
                section = title
            }
            guard !symbol.canonical.hasPrefix("extension ") else { continue }
            let declaration = symbol.declaration.replacing("static func", with: "class func")
            lines.append("| `\(declaration)` | \(state(of: symbol)) |")
        }
        let ours = declarations.filter(Self.isOurs).sorted { ($0.path, $0.line) < ($1.path, $1.line) }
        if !ours.isEmpty {
            lines += [
                "", "## Beside Apple's", "",
                "`beginRefundRequest(for:)` is StoreKit 2's call without the window scene.", "",
                "| symbol of this project |", "|---|",
            ]
            lines += ours.map { "| `\($0.container.map { "\($0)." } ?? "")\($0.text)` |" }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
