import Foundation
import Merchant
import MerchantServer
import StoreWire

/// A hook with which crash tests change the configuration of `merchant serve`.
package enum MerchantServing {
    /// Changes the configuration before the server starts. The default changes nothing.
    @TaskLocal package static var adjust: @Sendable (inout MerchantServerConfiguration) -> Void = { _ in }
}

/// The configuration of `merchant serve`.
extension MerchantOptions {
    enum Conflict: String, CaseIterable {
        case refuse
        case transfer
        case family
    }

    enum Refunds: String, CaseIterable {
        case toZero = "to-zero"
        case belowZero = "below-zero"
        case flag
    }

    enum Superseded: String, CaseIterable {
        case takeBack = "take-back"
        case prorate
        case keep
    }

    /// The decision that the server prefers for a customer's request for a refund.
    enum Consumption: String, CaseIterable {
        case silent
        case neutral
        case decline
        case grant
        case prorate
    }

    /// Returns the configuration of the options.
    /// - Throws: ``CommandError`` that names the wrong option.
    func configuration() throws -> MerchantServerConfiguration {
        var configuration = MerchantServerConfiguration(
            dataDirectory: folder, host: layers.text(.host) ?? "127.0.0.1",
            port: try layers.number(.port, 0...65_535, otherwise: MerchantSettings.usualPort),
            databaseURL: try databaseURL(), schema: try schema(), stores: try stores(),
            bundleIDs: Set(layers.list(.bundleID).map { BundleID(String($0.prefix { $0 != "=" })) }),
            policy: try policy(),
            productsFiles: layers.list(.products).map { URL(fileURLWithPath: $0) }, tokenKeys: tokenKeys)
        configuration.appIDs = try appIDs()
        configuration.bucket = try bucket()
        configuration.isBehindProxy = try layers.isSet(.behindProxy)
        configuration.rates = try layers.rates()
        // The command that starts the console reports what is wrong with its options.
        let hasConsole = (try? console(beside: configuration)) != nil
        configuration.limits = try layers.limits(ports: hasConsole ? 2 : 1)
        if try layers.isSet(.remote) { configuration.remote = try remoteStore() }
        configuration.webhooks = try layers.text(.webhook).map {
            try WebhookReceiver(option: $0, environment: environment)
        }
        configuration.storeAPI = try storeAPI()
        configuration.policy.consumption = try layers.consumption()
        configuration.policy.setsAccountTokens = try layers.isSet(.accountTokens)
        MerchantServing.adjust(&configuration)
        return configuration
    }

    /// The token with which people sign in to the console; nil for none.
    var adminToken: String? { environment["CORNERSTORE_ADMIN_TOKEN"] }

    /// Returns the settings of the console beside the server; nil for none. A server that other machines reach has a
    /// console only with an admin token.
    /// - Throws: ``CommandError`` that names the wrong option, or the option that asks for a console without a token.
    func console(beside configuration: MerchantServerConfiguration) throws -> ConsoleSettings? {
        guard
            let settings = try layers.console(usualPort: ConsoleSettings.merchantPort, hasToken: adminToken != nil)
        else { return nil }
        guard adminToken == nil, !configuration.isLoopback else { return settings }
        let given = [MerchantOption.consolePort, .consoleFiles].first { layers.text($0) != nil }?.rawValue
        // There are settings, so this option asks for a console.
        guard let option = given ?? (layers.text(.noConsole) == nil ? nil : "console") else { return nil }
        throw CommandError(
            .usage,
            "\(option): on \(configuration.host), the console requires an admin token in CORNERSTORE_ADMIN_TOKEN. To start without a console, use --no-console."
        )
    }

    /// The numbers of apps, from the values of `bundle-id` that have one.
    private func appIDs() throws -> [BundleID: Int64] {
        try layers.list(.bundleID).reduce(into: [:]) { numbers, text in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return }
            guard let number = Int64(parts[1]), number > 0 else {
                throw CommandError(
                    .usage,
                    "bundle-id must be a bundle id, or a bundle id and the app's number (BUNDLE=NUMBER), not “\(Style.printable(text))”."
                )
            }
            numbers[BundleID(String(parts[0]))] = number
        }
    }

    /// Reads the keys of stores' APIs.
    private func storeAPI() throws -> [StoreAPIAccess] {
        try layers.text(.storeKeys).map { try StoreAPIKeysFile.read(URL(fileURLWithPath: $0)) } ?? []
    }

    private func policy() throws -> MerchantPolicy {
        let conflict: ConflictPolicy =
            switch try layers.choice(.conflict, otherwise: Conflict.refuse) {
            case .refuse: .refuse
            case .transfer: .transfer
            case .family: .family(members: 6)
            }
        let refunds: RefundPolicy =
            switch try layers.choice(.refunds, otherwise: Refunds.toZero) {
            case .toZero: .toZero
            case .belowZero: .belowZero
            case .flag: .flag
            }
        let superseded: SupersededPolicy =
            switch try layers.choice(.superseded, otherwise: Superseded.takeBack) {
            case .takeBack: .takeBack
            case .prorate: .prorate
            case .keep: .keep
            }
        return MerchantPolicy(
            conflict: conflict, refund: refunds, superseded: superseded,
            givesCreditsForTrials: try layers.isSet(.trialCredits),
            givesCreditsForSharedCopies: try layers.isSet(.sharedCredits),
            environments: try layers.isSet(.allowSandbox) ? [.production, .sandbox] : [.production],
            sendsWebhooks: sendsWebhooks,
            downloadsBeforeRedemption: try layers.number(
                .evidenceDownloads, 0...1_000_000, otherwise: MerchantPolicy.usualDownloadsBeforeRedemption),
            joinsEnvironments: try joinsEnvironments(), usualEnvironment: try defaultEnvironment())
    }

    // MARK: Stores

    private static func isApple(_ store: String) -> Bool { store.lowercased() == "apple" }
    private var takesApple: Bool { layers.list(.store).contains(where: Self.isApple) }
    /// Whether the server accepts a Cornerstore's purchases. Without a store option, it accepts those of the data
    /// directory's store.
    private var takesCornerstore: Bool {
        let stores = layers.list(.store)
        return stores.isEmpty || !stores.allSatisfy(Self.isApple)
    }

    private func stores() throws -> [TrustedStore] {
        for store in layers.list(.store) where !Self.isApple(store) {
            let address = URLComponents(string: store)
            guard ["http", "https"].contains(address?.scheme?.lowercased()), address?.host?.isEmpty == false else {
                throw CommandError(
                    .usage, "store must be apple or a Cornerstore's base URL, not “\(Style.printable(store))”.")
            }
        }
        let intermediates = try layers.list(.intermediate).map { try CertificateInput.read($0) }
        var stores: [TrustedStore] = []
        if takesApple {
            let roots = try layers.list(.root).map { (file: $0, der: try CertificateInput.read($0)) }
            if !takesCornerstore, let other = roots.first(where: { !TrustedStore.isAppleRoot($0.der) }) {
                throw CommandError(
                    .usage,
                    "root: \(Style.printable(other.file)) is not a root of Apple. With --store apple alone, only Apple's roots are trusted."
                )
            }
            stores.append(
                .appleStores(
                    roots: roots.map(\.der).filter { TrustedStore.isAppleRoot($0) }, intermediates: intermediates))
        }
        if takesCornerstore { stores.append(try cornerstore(intermediates)) }
        return stores
    }

    private func cornerstore(_ intermediates: [[UInt8]]) throws -> TrustedStore {
        let roots = try layers.list(.root).map { try CertificateInput.read($0) }.filter {
            !TrustedStore.isAppleRoot($0)
        }
        guard !roots.isEmpty else {
            return try .cornerstore(
                in: Self.storeFolder(layers.text(.storeData), environment), intermediates: intermediates)
        }
        return .cornerstore(roots: roots, intermediates: intermediates)
    }

    private func remoteStore() throws -> MerchantServerConfiguration.RemoteStore {
        let stores = layers.list(.store)
        let secret = environment["CORNERSTORE_SHARED_SECRET"]
        guard takesApple != takesCornerstore || stores.count == 1 else {
            throw CommandError(.usage, "remote supports one store. Give --store once.")
        }
        if takesApple {
            return .init(hosts: try .apple(), sharedSecret: secret, anchor: TrustedStore.apple)
        }
        guard let address = stores.first else {
            throw CommandError(.usage, "remote requires the store's address. Give --store URL.")
        }
        return .init(
            hosts: try .cornerstore(production: address, sandbox: layers.text(.sandboxStore)), sharedSecret: secret,
            anchor: try cornerstore([]).anchor)
    }
}
