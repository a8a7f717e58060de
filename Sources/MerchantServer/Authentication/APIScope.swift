/// What a backend's API key may do.
public enum APIScope: String, Sendable, CaseIterable, Codable {
    /// Read and change what is on sale.
    case products
    /// Read users: their balances, entitlements and history.
    case users
    /// Grant, spend and refund for users.
    case ledger
    /// Put content in and take it out.
    case content
    /// List dead letters and replay them.
    case webhooks
    /// Hand in the store's notifications.
    case notifications
    /// Read the metrics.
    case metrics
    /// Make and revoke API keys.
    case keys
}
