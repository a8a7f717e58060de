import ArgumentParser
import StoreServer

/// The product that a command about hosted content is about, and how to reach the store.
struct ContentTarget: ParsableArguments {
    @Argument(help: "The product's identifier.")
    var product: String
    @Option(help: ArgumentHelp("The app, when several sell the product.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    /// The app that sells the product.
    func bundleID(_ client: ControlClient) async throws -> String {
        try await Seller.find(product, app: app, client)
    }
}

/// Picks a version and takes a step with it.
struct ContentStepAction {
    /// The step's name on the control port.
    var step: String
    /// The states from which it can be taken.
    var states: Set<String>
    var target: ContentTarget
    var version: String?

    private static let nothing: [String: String] = [:]

    func run() async throws { try await run(Self.nothing) }

    func run(_ body: some Encodable) async throws {
        let client = try target.control.client()
        let bundleID = try await target.bundleID(client)
        let products: [ControlAPI.HostedProduct] = try await client.get(
            "/content", query: [("bundle", bundleID), ("product", target.product)])
        let chosen = try choose(products.first?.versions ?? [])
        let changed: ControlAPI.ContentVersion = try await client.send(
            "POST", "/content/versions/\(chosen.versionId.uuidString)/\(step)", body)
        try Console.current.report(changed, json: target.output.json) { style in
            "\(changed.productId) \(changed.version): \(style.bold(ContentWords.state(changed.state)))"
        }
    }

    /// The version that was named, else the newest that can take the step.
    func choose(_ versions: [ControlAPI.ContentVersion]) throws -> ControlAPI.ContentVersion {
        guard !versions.isEmpty else {
            throw CommandError(
                .refused,
                "No content of \(target.product) is at the store. Send some with “cornerstore content upload FILE”.")
        }
        let named = version.map { version in versions.filter { $0.version == version } } ?? versions
        guard let first = named.first else {
            throw CommandError(
                .refused,
                "There is no version \(version ?? ""); there are \(versions.map(\.version).joined(separator: ", ")).")
        }
        // One that cannot take the step is sent all the same, since the store's reason is the best.
        return named.first { states.contains($0.state) } ?? first
    }
}
