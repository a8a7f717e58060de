import ArgumentParser
import ControlWire

/// The options of the hosted-content commands: the product and how to reach the store.
struct ContentTarget: ParsableArguments {
    @Argument(help: "The product's identifier.")
    var product: String
    @Option(
        help: ArgumentHelp("The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
    var app: String?
    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    /// Returns the bundle id of the app that sells the product.
    func bundleID(_ client: ControlClient) async throws -> String {
        try await AppSelection.bundleID(of: product, app: app, client)
    }
}

/// Selects a version and performs a review step on it.
struct ContentStepAction {
    var step: ControlRoute.ContentStepName
    /// The states in which a version allows the step.
    var states: Set<String>
    var target: ContentTarget
    var version: String?

    private static let nothing: [String: String] = [:]

    func run() async throws { try await run(Self.nothing) }

    func run(_ body: some Encodable) async throws {
        let client = try target.control.client()
        let bundleID = try await target.bundleID(client)
        let products: [ControlAPI.HostedProduct] = try await client.send(
            .content(bundle: bundleID, product: target.product))
        let chosen = try choose(products.first?.versions ?? [])
        let changed: ControlAPI.ContentVersion = try await client.send(
            .step(step, version: chosen.versionId), body)
        try Console.current.report(changed, json: target.output.json) { style in
            "\(changed.productId) \(changed.version): \(style.bold(ContentWords.state(changed.state)))"
        }
    }

    /// Returns the given version, or the newest version that allows the step.
    /// - Throws: ``CommandError`` when the product has no versions, or not the given one.
    func choose(_ versions: [ControlAPI.ContentVersion]) throws -> ControlAPI.ContentVersion {
        guard !versions.isEmpty else {
            throw CommandError(
                .refused,
                "The store has no content for \(target.product). Upload it with “cornerstore content upload FILE”.")
        }
        let named = version.map { version in versions.filter { $0.version == version } } ?? versions
        guard let first = named.first else {
            throw CommandError(
                .refused,
                "Version \(version ?? "") does not exist. The versions are \(versions.map(\.version).joined(separator: ", "))."
            )
        }
        // A version that does not allow the step is sent too: the store's error message is the most precise.
        return named.first { states.contains($0.state) } ?? first
    }
}
