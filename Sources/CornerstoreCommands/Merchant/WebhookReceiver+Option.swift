import MerchantServer

extension WebhookReceiver {
    /// The receiver of the option `webhook`.
    /// - Parameter environment: the variables; `CORNERSTORE_WEBHOOK_SECRET` has the secrets, separated by spaces.
    /// - Throws: ``CommandError`` without a secret, ``MerchantServerError`` for a wrong address or secret.
    init(option address: String, environment: [String: String]) throws {
        guard let secret = environment["CORNERSTORE_WEBHOOK_SECRET"] else {
            throw CommandError(.usage, "webhook requires a secret in CORNERSTORE_WEBHOOK_SECRET.")
        }
        try self.init(address: address, secrets: secret.split(separator: " ").map { try WebhookSecret(String($0)) })
    }
}
