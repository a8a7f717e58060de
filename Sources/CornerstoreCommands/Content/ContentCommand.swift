import ArgumentParser

/// `cornerstore content`: hosted content, from its folder to the customer.
struct ContentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "content",
        abstract: "Make packages of hosted content, check them, and have the store host them.",
        discussion: """
            From a new folder to the customer:

              cornerstore content init com.example.app.chapter1 Chapter1
              cornerstore content check Chapter1
              cornerstore content build Chapter1
              cornerstore content host com.example.app.chapter1
              cornerstore content upload Chapter1.pkg
              cornerstore content submit com.example.app.chapter1
              cornerstore content approve com.example.app.chapter1
            """,
        subcommands: [ContentInitCommand.self, ContentBuildCommand.self, ContentCheckCommand.self],
        groupedSubcommands: [CommandGroup(name: "At a running store", subcommands: atTheStore)])
}
