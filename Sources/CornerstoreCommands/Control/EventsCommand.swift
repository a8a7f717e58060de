import ArgumentParser
import ControlWire
import Foundation

/// `cornerstore events`: follows what changes in a store.
struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Follow the changes in a running store.",
        discussion: """
            Each line names a topic that changed, such as sandbox.transactions, sandbox.accounts or catalog. Ask for what you need \
            then. Control-C ends it.

              cornerstore events
              cornerstore events --count 1 --json
            """)
    @Option(
        parsing: .unconditional,
        help: "The number of events after which the command ends; each can name several topics.")
    var count: Int?
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard count.map({ $0 >= 1 }) ?? true else { throw ValidationError("--count must be 1 or more.") }
    }

    func run() async throws {
        var left = count ?? .max
        let console = Console.current
        try await control.client().follow(.events) { line in
            guard line.hasPrefix("data: ") else { return true }
            let data = Data(line.dropFirst("data: ".count).utf8)
            if output.json {
                console.print(String(decoding: data, as: UTF8.self))
            } else if let changed = try? JSONDecoder().decode(ControlAPI.Changed.self, from: data) {
                console.print(changed.topics.map(Style.printable).joined(separator: "\n"))
            }
            left -= 1
            return left > 0
        }
        if let count, left > 0 {
            throw CommandError(.failed, "The store ended the connection after \(count - left) of \(count) events.")
        }
    }
}
