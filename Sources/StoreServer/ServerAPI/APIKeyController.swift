import ControlWire
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Store
import StoreWire

/// Serves the operator of the API keys: creates, lists and revokes them.
struct APIKeyController: Sendable {
    let keys: APIKeys
    let apps: AppRegistry
    let now: @Sendable () -> Date

    private static let largestBody = 4 << 10

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.apiKeys) { _, _ in try .json(keys.all.map { ControlAPI.APIKey($0) }) }
        router.on(.makeAPIKey) { request, context in
            let order = try await request.decodeJSON(ControlAPI.NewAPIKey.self, upTo: Self.largestBody)
            guard let app = apps[BundleID(order.bundleId)] else {
                throw StoreError(.unknownApp, "The store has no app with this bundle identifier.")
            }
            let made = try await keys.make(for: app.bundleID, at: milliseconds)
            context.note?.say(subject: app.bundleID.rawValue, after: "has the key \(made.key.keyID)")
            var response = try Response.json(
                ControlAPI.CreatedAPIKey(key: ControlAPI.APIKey(made.key), privateKey: made.privateKey))
            response.headers[.cacheControl] = "no-store"
            return response
        }
        router.on(.revokeAPIKey(name: "")) { _, context in
            let name = context.parameter(.name)?.removingPercentEncoding ?? ""
            return try .json(ControlAPI.APIKey(try await keys.revoke(name, at: milliseconds)))
        }
    }

    private var milliseconds: Int64 { Int64((now().timeIntervalSince1970 * 1000).rounded(.down)) }
}

extension ControlAPI.APIKey {
    init(_ key: APIKey) {
        self.init(
            keyId: key.keyID, issuerId: key.issuerID, bundleId: key.bundleID.rawValue,
            publicKey: key.publicKeyPEM, createdDate: ControlAPI.text(key.createdAt),
            revokedDate: key.revokedAt.map { ControlAPI.text($0) })
    }
}
