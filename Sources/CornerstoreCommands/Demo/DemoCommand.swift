import ArgumentParser
import Foundation

/// `cornerstore demo`: the whole loop on the sample apps.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch sample apps buy from a store on this machine, step by step.",
        discussion: """
            It starts a store and a merchant on free ports, lets the Monkey Credits app buy from it, verifies the receipts, kills the app in the middle of a \
            purchase, lets Photo Filters sell a filter and restore it on a second device, edits what the apps keep, hosts the chapters of Book Chapters and kills \
            a download half-way, has the merchant sell the issues of Server Books, and checks at every step that all is as it should be. Then it stays up to be played with; with --once it ends, with 1 \
            when a step failed.

              cornerstore demo
              cornerstore demo --once
            """)

    @Flag(help: "End after the last step.")
    var once = false
    @Option(
        help: ArgumentHelp("Keep everything in this directory instead of a temporary one.", valueName: "dir"),
        completion: .directory)
    var data: String?
    @Option(
        help: ArgumentHelp(
            "Where the programs of the sample apps are, when not beside this one.", valueName: "dir"),
        completion: .directory)
    var programs: String?
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let places = try DemoPlaces(data: data, programs: programs)
        let passed: Bool
        do {
            passed = try await Demo(places: places, isOnce: once, json: output.json).run()
        } catch {
            places.removeWhatIsTemporary()
            throw error
        }
        if passed { places.removeWhatIsTemporary() }
        if !passed { throw ExitCode(1) }
    }
}
