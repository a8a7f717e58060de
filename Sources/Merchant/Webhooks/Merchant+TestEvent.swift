import Database
import MerchantWire

extension Merchant {
    /// Writes an event of type `webhook.test` into the outbox. It is signed, delivered and retried like any other
    /// event.
    /// - Returns: the event's identifier, sent as `webhook-id`.
    /// - Throws: ``MerchantError`` `not_found` when the merchant sends no webhooks.
    public func sendTestEvent() async throws -> String {
        guard policy.sendsWebhooks else {
            throw MerchantError(
                .notFound, "No webhook receiver is configured. Start the server with --webhook URL.")
        }
        let writer = EventWriter(policy, id: makeID(), now: now())
        let id = try await database.write { try writer.write(.test, $0) }
        outboxSignal.send()
        guard let id else { throw MerchantError(.internalError, "The test event was not written.") }
        return id
    }
}
