/// The rules that a file of Sources, Examples or Benchmarks keeps, beside the table of imports. Each answers with
/// `file:line: what is wrong`.
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
}
