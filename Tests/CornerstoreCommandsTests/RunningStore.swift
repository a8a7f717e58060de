import Foundation
import ServiceLifecycle
import Store
import StoreKit
import StoreServer
import StoreWire
import TestSupport
import Testing

@testable import CornerstoreCommands

/// A store in this process on free ports, for one test.
struct RunningStore: Sendable {
    let directory: TemporaryDirectory
    let addresses: Addresses
    /// What runs.
    let application: StoreAndMerchant
    /// Tells it to stop, as a signal does, and returns at once.
    let stop: @Sendable () async -> Void

    /// Runs a command against it.
    func run(_ line: String...) async -> (status: Int32, output: String, errors: String) {
        await Capture.run(
            line.flatMap { $0.split(separator: " ").map(String.init) }, environment: ["CORNERSTORE_DATA": data])
    }

    var data: String { directory.path("data") }

    static let catalog = """
        {"identifier": "AB", "products": [\
        {"displayPrice": "0.99", "familyShareable": false, "internalID": "1", "localizations": [], "productID": "com.example.app.coins", \
        "referenceName": "Coins", "type": "Consumable"}, \
        {"displayPrice": "4.99", "familyShareable": false, "internalID": "2", "localizations": [], "productID": "com.example.app.pro", \
        "referenceName": "Pro", "type": "NonConsumable"}], "settings": {}, "subscriptionGroups": [], "version": {"major": 3, "minor": 0}}
        """

    /// A catalog in our own format: a consumable, and two groups of subscriptions with each kind of offer.
    static let club = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.app
            name: Example
            products: [{ productID: coins, type: Consumable, displayPrice: 0.99 }]
            subscriptionGroups:
              - id: "21000001"
                name: Club
                subscriptions:
                  - productID: club.yearly
                    groupNumber: 1
                    recurringSubscriptionPeriod: P1Y
                    displayPrice: 49.99
                    localizations: [{ locale: en_US, displayName: A Year of the Club, description: All of it }]
                  - productID: club.monthly
                    groupNumber: 2
                    recurringSubscriptionPeriod: P1M
                    displayPrice: 5.99
                    codeOffers:
                      - { referenceName: Spring, paymentMode: payAsYouGo, displayPrice: 0.99, subscriptionPeriod: P1M }
                    adHocOffers:
                      - { offerID: come-back, paymentMode: payAsYouGo, displayPrice: 1.99, subscriptionPeriod: P1M }
                    winbackOffers:
                      - { offerID: return, paymentMode: free, subscriptionPeriod: P1M }
              - id: "21000002"
                name: Gym
                subscriptions:
                  - productID: gym.monthly
                    groupNumber: 1
                    recurringSubscriptionPeriod: P1M
                    displayPrice: 9.99
        """

    /// Buys a product in the sandbox as its tester, without StoreKit, which a process can configure only once.
    func buy(_ product: ProductID) async throws -> PurchaseResponse {
        let tester = try #require(SandboxTester.read(from: URL(fileURLWithPath: data)))
        let customer = StoreCredentials(email: tester.email, password: tester.password)
        return try await ShellSession.with(customer, at: addresses.store(.sandbox)) { session in
            let bought: PurchaseResponse = try await session.send(
                .purchases,
                PurchaseRequest(
                    idempotencyKey: UUID(), bundleID: "com.example.app", productID: product, quantity: 1,
                    applicationUsername: nil, simulatesAskToBuy: false, agreedPrice: nil))
            #expect(bought.state == .purchased)
            return bought
        }
    }

    /// - Parameters:
    ///   - yaml: a catalog in our own format; nil for ``catalog``.
    ///   - files: the files beside the catalog, by name.
    ///   - merchant: the settings of the merchant beside it; nil for none.
    ///   - hasConsole: whether a console runs beside it.
    static func with(
        yaml: String? = nil, files: [String: Data] = [:], merchant: MerchantSettings? = nil, hasConsole: Bool = false,
        _ body: @Sendable (RunningStore) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            for (name, bytes) in files { try bytes.write(to: directory.url.appendingPathComponent(name)) }
            let file = directory.url.appendingPathComponent(yaml == nil ? "App.storekit" : "catalog.yaml")
            try Data((yaml ?? catalog).utf8).write(to: file)
            var configuration = StoreServerConfiguration(
                dataDirectory: directory.url.appendingPathComponent("data"),
                catalogFiles: [CatalogFile(path: file.path, bundleID: yaml == nil ? "com.example.app" : nil)],
                controlPort: 0,
                sandboxPort: 0, productionPort: 0, storefrontPort: 0)
            try await SharedAuthority.copy(to: configuration.dataDirectory.appendingPathComponent("authority"))
            try await Backend.writeFiles(StoreDatabases.migrations, in: configuration.dataDirectory)
            // The standard cost takes 0.3 s in a debug build, for every account and every sign-in.
            configuration.passwordCost = PasswordCost(rounds: 16)
            let application = try await StoreAndMerchant.open(
                configuration, merchant: merchant, now: { Date() }, logger: ServeAction.logger(.critical))
            let (ready, isReady) = AsyncStream.makeStream(of: Addresses.self)
            let group = ServiceGroup(
                configuration: .init(
                    services: [
                        .init(
                            service: StoreService(application: application, hasConsole: hasConsole) {
                                isReady.yield($0)
                            })
                    ],
                    logger: ServeAction.logger(.critical)))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    defer { isReady.finish() }
                    try await group.run()
                }
                for await addresses in ready {
                    do {
                        try await body(
                            RunningStore(
                                directory: directory, addresses: addresses, application: application,
                                stop: { await group.triggerGracefulShutdown() }))
                    } catch {
                        await group.triggerGracefulShutdown()
                        throw error
                    }
                    await group.triggerGracefulShutdown()
                }
                try await tasks.waitForAll()
            }
        }
    }
}
