import ArgumentParser
import StoreServer

/// `cornerstore content host`: turns hosting on for a product, or off.
struct ContentHostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Let the store host content for a non-consumable, or stop it.",
        discussion: """
            Only a product that production has not sold yet. It can be turned off until a version was approved; what was uploaded is removed \
            then. A YAML catalog says the same with hosted: true.

              cornerstore content host com.example.book.chapter2
              cornerstore content host com.example.book.chapter2 --off
            """)

    @Flag(help: "Turn it off.")
    var off = false
    @OptionGroup var target: ContentTarget

    func run() async throws {
        let client = try target.control.client()
        let hosting = ControlAPI.Hosting(
            bundleId: try await target.bundleID(client), productId: target.product, hosted: !off)
        let products: [ControlAPI.HostedProduct] = try await client.send("PUT", "/content/hosting", hosting)
        try Console.current.report(products, json: target.output.json) { style in
            off
                ? "Hosting is off for \(target.product)."
                : style.good("Hosting is on") + " for \(target.product). Next: cornerstore content upload FILE"
        }
    }
}
