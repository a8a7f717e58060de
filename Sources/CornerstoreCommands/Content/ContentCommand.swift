import ArgumentParser

/// `cornerstore content`: hosted content, from its folder to the customer.
struct ContentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "content",
        abstract: "Make packages of hosted content, check them, and have the store host them.",
        discussion: """
            From a package to the customer:

              cornerstore content host com.example.app.chapter1
              cornerstore content upload chapter1.pkg
              cornerstore content submit com.example.app.chapter1
              cornerstore content approve com.example.app.chapter1
            """,
        groupedSubcommands: [CommandGroup(name: "At a running store", subcommands: atTheStore)])
}
