/// The rules that a Swift file keeps, beside the table of imports: ``violations(in:)`` for a file of Sources, Examples
/// or Benchmarks, ``timeLimits(in:)`` for one of Tests. Each answers with `file:line: what is wrong`.
enum CodeRules {
    /// The most lines that a file may have; over it, it is more than one thing.
    static let longestFile = 600

    static func violations(in source: SwiftSource) -> [String] {
        traps(in: source) + uncheckedSendable(in: source) + length(of: source)
    }

    /// Nothing from outside may stop the process, so nothing in the code may. `precondition` is left to `StoreKit`,
    /// where Apple's API traps too, with a comment above that says so.
    static func traps(in source: SwiftSource) -> [String] {
        source.code.enumerated().flatMap { index, line -> [String] in
            // Most lines need no closer look.
            guard line.utf8.contains(UInt8(ascii: "!")) || line.contains("fatalError") || line.contains("recondition")
            else { return [] }
            var found: [String] = []
            let place = "\(source.path):\(index + 1)"
            if line.contains(/\btry!/) { found.append("\(place): try! stops the process when it fails") }
            if line.contains(/\bas!/) { found.append("\(place): as! stops the process when the type differs") }
            if line.contains(/\b(?:fatalError|preconditionFailure)\(/) { found.append("\(place): stops the process") }
            if line.contains(/\bprecondition\(/), !isDocumentedTrap(index + 1, in: source) {
                found.append(
                    "\(place): precondition is for StoreKit alone, with a comment above that says why"
                )
            }
            let literal = line.contains(/\bstatic let\b/)
            if !literal, line.replacing(/\b(?:try|as)!/, with: "").contains(/[A-Za-z0-9_)\]>"?]!(?![=])/) {
                found.append("\(place): forced unwrap")
            }
            return found
        }
    }

    /// Whether one of the ten lines above speaks of the trap or of the programmer's error that it answers.
    private static func isDocumentedTrap(_ line: Int, in source: SwiftSource) -> Bool {
        guard source.path.hasPrefix("Sources/StoreKit/") else { return false }
        return source.lines[max(0, line - 11)..<(line - 1)].contains { $0.contains(/\/\/.*\b(?:traps?|programmer)/) }
    }

    /// The comment names the lock, or says after the word `@unchecked` why none is needed.
    static func uncheckedSendable(in source: SwiftSource) -> [String] {
        source.code.enumerated().compactMap { index, line in
            guard line.contains("@unchecked Sendable") else { return nil }
            guard !source.comment(above: index + 1).lowercased().contains(/\b(?:lock|mutex)|@unchecked/) else {
                return nil
            }
            return
                "\(source.path):\(index + 1): @unchecked Sendable without a comment above that names its lock"
        }
    }

    static func length(of source: SwiftSource) -> [String] {
        let count = source.lines.count - (source.lines.last == "" ? 1 : 0)
        return count > longestFile ? ["\(source.path):\(longestFile + 1): \(count) lines; split it"] : []
    }

    /// A test without a time limit hangs instead of failing when the event that it waits for never comes. A test that
    /// needs more than a minute is split.
    static func timeLimits(in source: SwiftSource) -> [String] {
        var violations: [String] = []
        var firstLine = 1
        // Each piece is a declaration at the file's top level, up to the brace that ends it.
        for piece in source.code.split(separator: "}", omittingEmptySubsequences: false) {
            let tests = piece.firstIndex { $0.contains(/^\s+@Test\b/) }
            let limit = /@Suite\([^{]*\.timeLimit\(\.minutes\(1\)\)/
            if let tests, !piece[..<tests].joined(separator: "\n").contains(limit) {
                violations.append(
                    "\(source.path):\(firstLine): the tests need @Suite with .timeLimit(.minutes(1))")
            }
            firstLine += piece.count + 1
        }
        for (index, line) in source.code.enumerated() {
            for match in line.matches(of: /timeLimit\(\.minutes\((\d+)\)\)/) where match.1 != "1" {
                violations.append("\(source.path):\(index + 1): a time limit of \(match.1) minutes")
            }
        }
        return violations
    }
}
