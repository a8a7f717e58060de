import Merchant

extension LayeredSettings where Name: ServerSettingName {
    /// Returns how the merchant answers the store's questions about consumption; nil when it does not.
    /// - Throws: ``CommandError`` that names the option; also for samples that no answer would mention.
    func consumption() throws -> ConsumptionPolicy? {
        let preference: ConsumptionPolicy.Preference?
        switch try choice(.consumption, otherwise: MerchantOptions.Consumption.silent) {
        case .silent:
            guard try isSet(.samples) else { return nil }
            let name = Name.samples.rawValue
            throw CommandError(
                .usage, "\(name) is part of the answer that consumption chooses. Give --consumption, or omit \(name).")
        case .neutral: preference = nil
        case .decline: preference = .decline
        case .grant: preference = .grantFull
        case .prorate: preference = .grantProrated
        }
        return ConsumptionPolicy(preference: preference, hasSamples: try isSet(.samples))
    }
}
