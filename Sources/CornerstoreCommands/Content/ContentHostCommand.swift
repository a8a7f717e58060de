import ArgumentParser
import ControlWire

/// `cornerstore content host`: turns hosting on or off for a product.
struct ContentHostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Turn hosting on or off for a non-consumable.",
        discussion: """
            You can turn hosting on for a product that production has not sold yet. You can turn it off until a version is approved. Turning it \
            off removes the uploaded content. In a YAML catalog, hosted: true turns hosting on.

              cornerstore content host com.example.book.chapter2
              cornerstore content host com.example.book.chapter2 --off
            """)

    @Flag(help: "Turn hosting off.")
    var off = false
    @OptionGroup var target: ContentTarget

    func run() async throws {
        let client = try target.control.client()
        let hosting = ControlAPI.Hosting(
            bundleId: try await target.bundleID(client), productId: target.product, hosted: !off)
        let products: [ControlAPI.HostedProduct] = try await client.send(.setHosting, hosting)
        try Console.current.report(products, json: target.output.json) { style in
            off
                ? "Hosting is off for \(target.product)."
                : style.good("Hosting is on") + " for \(target.product). Next: cornerstore content upload FILE"
        }
    }
}
