import Synchronization

/// Prints the demo's numbered steps with their output and checks.
final class DemoTeller: Sendable {
    struct Step: Encodable, Sendable {
        var number: Int
        var title: String
        var checks: [Check]
    }

    struct Check: Encodable, Sendable {
        var text: String
        var passed: Bool
    }

    private let console: Console
    private let isSilent: Bool
    private let steps = Mutex<[Step]>([])

    init(_ console: Console, isSilent: Bool) {
        self.console = console
        self.isSilent = isSilent
    }

    var told: [Step] { steps.withLock { $0 } }

    func begin(_ title: String) {
        let number = steps.withLock { steps in
            steps.append(Step(number: steps.count + 1, title: title, checks: []))
            return steps.count
        }
        say("\n\(console.style.bold("\(number). \(title)"))")
    }

    /// Prints an explanation.
    func explain(_ text: String) { say("   " + text) }

    /// Prints a command line or a program's output.
    func show(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            say("   " + console.style.dim("│ ") + Style.printable(String(line)))
        }
    }

    /// Records and prints a check.
    /// - Parameter found: the actual value, for the error message.
    /// - Throws: ``CommandError`` when the check fails.
    func check(_ text: String, _ holds: Bool, _ found: @autoclosure () -> String = "") throws {
        steps.withLock { $0[$0.count - 1].checks.append(Check(text: text, passed: holds)) }
        say("   " + (holds ? console.style.good("✓") : console.style.bad("✗")) + " " + text)
        guard !holds else { return }
        let found = found()
        throw CommandError(
            .failed,
            "Step \(told.count) failed. Expected: \(text)."
                + (found.isEmpty ? "" : " Found: \(Style.printable(found))"))
    }

    func say(_ text: String) {
        if !isSilent { console.print(text) }
    }
}
