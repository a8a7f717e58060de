/// The actions that an API key allows a backend.
public enum APIScope: String, Sendable, CaseIterable, Codable {
    /// Read and change the products on sale.
    case products
    /// Read users: their balances, entitlements and history.
    case users
    /// Grant, spend and refund for users.
    case ledger
    /// Upload and remove content.
    case content
    /// List undeliverable webhooks and send them again.
    case webhooks
    /// Read the metrics.
    case metrics
}
