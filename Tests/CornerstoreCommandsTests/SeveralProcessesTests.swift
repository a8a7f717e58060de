import Foundation
import Testing

@testable import CornerstoreCommands

@Suite("The commands of Documentation/SeveralProcesses.md", .timeLimit(.minutes(1)))
struct SeveralProcessesTests {
    /// A fenced block of the page, by the name that follows the language.
    private static func block(_ name: String) throws -> String {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        let page = try String(
            contentsOf: package.appendingPathComponent("Documentation/SeveralProcesses.md"), encoding: .utf8)
        let parts = page.components(separatedBy: "```sh \(name)\n")
        let rest = try #require(parts.count == 2 ? parts[1] : nil)
        return try #require(rest.components(separatedBy: "\n```").first)
    }

    @Test(
        arguments: [
            ("store", "serve"), ("merchant", "merchant serve"), ("notifications", "notification url set"),
        ])
    func theOptionsOfTheExampleExist(_ name: String, _ command: String) async throws {
        let block = try Self.block(name)
        #expect(block.hasPrefix("cornerstore \(command) "))
        let options = block.matches(of: /--[a-z-]+/).map { String($0.output) }
        #expect(options.count > 1)
        let help = await Capture.run(command.split(separator: " ").map(String.init) + ["--help"]).output
        let known = Set(help.matches(of: /--[a-z-]+/).map { String($0.output) })
        for option in options { #expect(known.contains(option), "\(option)") }
    }
}
