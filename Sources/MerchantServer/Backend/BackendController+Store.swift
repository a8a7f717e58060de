import HTTPSupport
import Hummingbird
import Merchant
import MerchantWire
import StoreWire

/// The backend's requests that the merchant carries out at the store: consent to answers about consumption, and
/// questions about subscriptions.
extension BackendController {
    func addStoreRoutes(to router: Router<MerchantRequestContext>) {
        add(.consumptionConsent(""), to: router) { [merchant] _, context in
            try .json(try await merchant.consumptionConsent(of: UserID(try context.parameter("user"))))
        }
        add(.setConsumptionConsent(""), to: router) { [merchant] request, context in
            let order = try await request.decodeJSON(ConsumptionConsentRequest.self, upTo: MerchantLimits.request)
            return try .json(
                try await merchant.setConsumptionConsent(
                    of: UserID(try context.parameter("user")), isGiven: order.isGiven))
        }
        add(.sweep, to: router) { [merchant] _, _ in try .json(try await merchant.sweep()) }
    }
}
