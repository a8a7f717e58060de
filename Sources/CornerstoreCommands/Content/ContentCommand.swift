import ArgumentParser

/// `cornerstore content`: hosted content, from its folder to the customer.
struct ContentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "content",
        abstract: "Make packages of hosted content, and check them.",
        discussion: """
            From a new folder to a package:

              cornerstore content init com.example.app.chapter1 Chapter1
              cornerstore content check Chapter1
              cornerstore content build Chapter1
            """,
        subcommands: [ContentInitCommand.self, ContentBuildCommand.self, ContentCheckCommand.self])
}
