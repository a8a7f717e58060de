import Foundation

/// The address at which the merchant's backend receives webhooks.
public struct WebhookReceiver: Sendable, Equatable {
    let url: URL
    let secrets: [WebhookSecret]

    /// Creates a receiver.
    /// - Parameters:
    ///   - address: an `https` URL, or an `http` URL of a loopback host.
    ///   - secrets: the signing secrets, newest first; more than one while a secret is being replaced.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` for an invalid address, or not 1 to 8 secrets.
    public init(address: String, secrets: [WebhookSecret]) throws {
        url = try OutgoingHTTP.url(address, for: "the webhooks' receiver")
        guard (1...8).contains(secrets.count) else {
            throw MerchantServerError(.invalidConfiguration, "The webhooks' receiver must have 1 to 8 secrets.")
        }
        self.secrets = secrets
    }
}
