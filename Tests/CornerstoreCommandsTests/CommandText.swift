import ArgumentParser

@testable import CornerstoreCommands

/// The texts of the commands' help. To show help takes a third of a second in a debug build, because ArgumentParser
/// then checks all options of a command again and again.
enum CommandText {
    struct Unknown: Error { let words: String }

    /// The discussion of a command, which its help shows as it is.
    ///
    /// - Parameter words: the names of the commands on the way to it, such as `merchant products put`.
    static func discussion(of words: String) throws -> String {
        var command: any ParsableCommand.Type = Cornerstore.self
        for word in words.split(separator: " ") {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == String(word) }) else {
                throw Unknown(words: words)
            }
            command = next
        }
        return command.configuration.discussion
    }
}
