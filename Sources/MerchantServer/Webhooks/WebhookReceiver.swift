import Foundation

/// Where the merchant's backend listens for changes.
public struct WebhookReceiver: Sendable {
    let url: URL
    let secrets: [WebhookSecret]

    /// - Parameters:
    ///   - address: `https`, or `http` on this machine.
    ///   - secrets: the newest first; more than one while a secret is being replaced.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`.
    public init(address: String, secrets: [WebhookSecret]) throws {
        url = try OutgoingHTTP.url(address, for: "the webhooks' receiver")
        guard (1...8).contains(secrets.count) else {
            throw MerchantServerError(.invalidConfiguration, "The webhooks' receiver has 1 to 8 secrets.")
        }
        self.secrets = secrets
    }
}
