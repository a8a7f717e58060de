import Foundation
import Testing

@Suite("The sources keep the house's rules", .timeLimit(.minutes(1)))
struct CodeRulesTests {
    @Test func noSourceBreaksARule() throws {
        for violation in try SourceTree.sources().flatMap(CodeRules.violations) { Issue.record("\(violation)") }
    }

    @Test func mainOfTheCommandLineStaysShort() throws {
        let main = SwiftSource(path: "main", text: try SourceTree.text(of: "Sources/cornerstore/main.swift"))
        #expect(main.lines.count <= 20)
    }

    /// A path of the machine where something was written means nothing to anybody else.
    @Test func noTextMentionsAMachinesPaths() throws {
        // Put together here, so that this file is not its own first finding.
        let folders = ["work", "farm", "root", "opt/" + "swift-packages", "tmp/" + "bash_jobs"].joined(separator: "|")
        let pattern = try Regex("(?:^|[^A-Za-z0-9_.}/)-])/(?:\(folders))(?:/|$)|instead" + "Of")
        let files = SourceTree.files()
        #expect(files.contains("Package.swift") && files.contains("Makefile"))
        for path in files {
            let data = try Data(contentsOf: SourceTree.root.appending(path: path))
            guard !data.prefix(8000).contains(0), let text = String(data: data, encoding: .utf8) else { continue }
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            where line.utf8.count < 10_000 && line.contains("/") && line.contains(pattern) {
                Issue.record("\(path):\(index + 1): mentions a path of one machine")
            }
        }
    }

    @Test func everyTestMayTakeAMinute() throws {
        for path in SourceTree.files() where path.hasPrefix("Tests/") && path.hasSuffix(".swift") {
            let source = SwiftSource(path: path, text: try SourceTree.text(of: path))
            for violation in CodeRules.timeLimits(in: source) { Issue.record("\(violation)") }
        }
    }
}
