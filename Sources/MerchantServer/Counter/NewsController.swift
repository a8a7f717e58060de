import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire

/// Receives the stores' notifications (App Store Server Notifications V2). A notification's signature authenticates it;
/// nothing else is required.
struct NewsController: Sendable {
    let merchant: Merchant

    private struct Body: Decodable {
        var signedPayload: String
    }

    func addRoutes(to router: Router<MerchantRequestContext>) { router.add(.notifications, receive) }

    /// Answers 200 when the store need not send the notification again; after any other status it does.
    @Sendable private func receive(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let body = try await request.decodeJSON(Body.self, upTo: MerchantLimits.notification)
        let outcome = try await merchant.receive(signedPayload: Array(body.signedPayload.utf8))
        if case .refused(let refused) = outcome {
            context.logger.warning(
                "a purchase that the store reported was not granted",
                metadata: [
                    "code": .string(refused.code.rawValue), "product": .string(refused.productID.rawValue),
                    "transaction": .string(refused.transactionID),
                ])
        } else {
            context.logger.debug("notification", metadata: ["outcome": "\(outcome)"])
        }
        return Response(status: .ok)
    }
}
