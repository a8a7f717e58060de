import Foundation
import Merchant
import MerchantWire
import ServerSupport
import StoreWire

extension SettingsReport {
    /// Describes a configuration, without its secrets.
    /// - Parameter bundleIDs: the apps, those of the product files included.
    public init(_ configuration: MerchantServerConfiguration, bundleIDs: Set<BundleID>) {
        let policy = configuration.policy
        self.init(
            bundleIDs: bundleIDs.sorted(), stores: configuration.stores.map(\.anchor),
            asksStore: configuration.remote != nil,
            environments: StoreEnvironment.allCases.filter { policy.environments.contains($0) },
            usualEnvironment: policy.usualEnvironment, joinsEnvironments: policy.joinsEnvironments,
            conflict: policy.conflict.word, refund: policy.refund.rawValue, superseded: policy.superseded.rawValue,
            givesCreditsForTrials: policy.givesCreditsForTrials,
            givesCreditsForSharedCopies: policy.givesCreditsForSharedCopies,
            downloadsBeforeRedemption: policy.downloadsBeforeRedemption, webhook: configuration.webhooks?.shownAddress,
            rates: configuration.rates.map { Rates($0) }, isBehindProxy: configuration.isBehindProxy,
            database: configuration.databaseURL == nil ? "SQLite" : "PostgreSQL")
    }
}

extension SettingsReport.Rates {
    fileprivate init(_ rates: RateLimits.Rates) {
        self.init(
            address: .init(rates.address), user: .init(rates.user), key: .init(rates.key),
            addressGuesses: .init(rates.addressGuesses), userGuesses: .init(rates.userGuesses))
    }
}

extension SettingsReport.Rate {
    fileprivate init(_ rate: TokenRate) { self.init(burst: rate.burst, perSecond: rate.perSecond) }
}

extension ConflictPolicy {
    fileprivate var word: String {
        switch self {
        case .refuse: "refuse"
        case .transfer: "transfer"
        case .family: "family"
        }
    }
}

extension WebhookReceiver {
    /// The address without its query, which may contain a secret.
    fileprivate var shownAddress: String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        parts?.query = nil
        return parts?.string ?? ""
    }
}
