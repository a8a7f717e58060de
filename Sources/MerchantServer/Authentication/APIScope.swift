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
    /// Read the metrics.
    case metrics
}
