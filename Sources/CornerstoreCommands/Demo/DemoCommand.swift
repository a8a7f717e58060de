import ArgumentParser
import Foundation

/// `cornerstore demo`: runs the sample apps against a store and a merchant, step by step.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch sample apps buy from a store on this machine, step by step.",
        discussion: """
            The demo starts a store and a merchant on free ports and runs six sample apps against them:

            - Monkey Credits buys credits. The demo verifies the receipt and kills the app during a purchase.
            - Photo Filters sells a filter and restores it on a second device. The demo edits the files that the app keeps.
            - Book Chapters sells chapters as hosted content. The demo kills a download half-way.
            - Server Books sells magazine issues, which the merchant delivers.
            - Cross Promotion finds items of the store, and sells songs and another app on their pages.
            - Magazine sells a subscription. A year passes in a second: renewals, a card that fails, an upgrade and a refund.

            With --web, the demo opens a console instead, and shows each app on a page in a browser, on which you buy yourself. An app that \
            you let crash is started again.

            The demo checks the result of every step. Then the store keeps running, so that you can try more commands. With --once, the demo \
            ends after the last step. The exit code is 1 when a step failed.

              cornerstore demo
              cornerstore demo --once
              cornerstore demo --sample magazine
              cornerstore demo --web
            """)

    @Flag(help: "End after the last step.")
    var once = false
    @Flag(help: "Show the apps on pages in a browser, instead of the steps.")
    var web = false
    @Option(
        help: ArgumentHelp(
            "Show the steps of this sample app only. Repeat the option for several.", valueName: "app"))
    var sample: [DemoSample] = []
    @Option(
        help: ArgumentHelp(
            "Keep all files in this directory, which must not contain a store, instead of a temporary one.",
            valueName: "dir"),
        completion: .directory)
    var data: String?
    @Option(
        help: ArgumentHelp(
            "The directory with the sample apps' programs. The default is this program's directory.", valueName: "dir"),
        completion: .directory)
    var programs: String?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !web || sample.isEmpty else { throw ValidationError("--web shows all sample apps; leave out --sample.") }
        guard !(once && web) else { throw ValidationError("--web ends with Ctrl-C, not with --once.") }
    }

    func run() async throws {
        let places = try DemoPlaces(data: data, programs: programs)
        let passed: Bool
        do {
            passed = try await Demo(
                places: places, samples: sample.isEmpty ? DemoSample.allCases : sample, isOnce: once, showsPages: web,
                json: output.json
            ).run()
        } catch {
            places.removeWhatIsTemporary()
            throw error
        }
        if passed { places.removeWhatIsTemporary() }
        if !passed { throw ExitCode(1) }
    }
}
