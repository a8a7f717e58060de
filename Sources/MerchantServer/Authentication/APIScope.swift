/// The actions that an API key allows a backend.
public enum APIScope: String, Sendable, CaseIterable, Codable {
    /// Read and change the products on sale.
    case products
    /// List users; read their balances, entitlements, flags and purchases, and the stores' notifications; record their
    /// consent; ask the store about subscriptions.
    case users
    /// Read the history of users, spend and adjust their credits, check the books.
    case ledger
    /// Upload and list content.
    case content
    /// List webhook events with the attempts to deliver them, send them again, send a test event.
    case webhooks
    /// List, make and revoke API keys.
    case keys
    /// Read the server's settings.
    case settings
    /// Read the metrics.
    case metrics
}
