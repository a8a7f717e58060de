import Merchant

extension LayeredSettings where Name: ServerSettingName {
    /// Returns how the merchant answers the store's questions about consumption; nil when it does not.
    /// - Throws: ``CommandError`` that names the option.
    func consumption() throws -> ConsumptionPolicy? {
        let preference: ConsumptionPolicy.Preference?
        switch try choice(.consumption, otherwise: MerchantOptions.Consumption.silent) {
        case .silent: return nil
        case .neutral: preference = nil
        case .decline: preference = .decline
        case .grant: preference = .grantFull
        case .prorate: preference = .grantProrated
        }
        return ConsumptionPolicy(preference: preference, hasSamples: try isSet(.samples))
    }
}
