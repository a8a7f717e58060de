import ArgumentParser

/// `cornerstore content`: builds, checks, uploads and releases hosted content.
struct ContentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "content",
        abstract: "Build and check packages of hosted content, and host them at the store.",
        discussion: """
            The steps from a new folder to the customer:

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
