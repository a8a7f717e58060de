import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire

/// What stores tell (App Store Server Notifications V2). A notification proves itself by its signature; nothing else is asked for.
struct NewsController: Sendable {
    let merchant: Merchant

    private struct Body: Decodable {
        var signedPayload: String
    }

    func addRoutes(to router: Router<MerchantRequestContext>) { router.add(.notifications, receive) }

    /// 200 tells the store that it need not come again; it does for everything else.
    @Sendable private func receive(_ request: Request, _ context: MerchantRequestContext) async throws -> Response {
        let body = try await request.decodeJSON(Body.self, upTo: MerchantLimits.notification)
        let outcome = try await merchant.receive(signedPayload: Array(body.signedPayload.utf8))
        context.logger.debug("notification", metadata: ["outcome": .string(outcome.rawValue)])
        return Response(status: .ok)
    }
}
