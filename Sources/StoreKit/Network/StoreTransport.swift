import Foundation
import StoreWire

/// One request to the store.
struct StoreTransportRequest: Sendable {
    var route: StoreRoute
    /// JSON; nil for none.
    var body: Data?
    /// The bearer token; secret.
    var token: String?
}

/// What came back, whatever the status.
struct StoreTransportResponse: Sendable {
    var status: Int
    var body: Data
}

/// Carries requests to the store.
protocol StoreTransport: Sendable {
    /// - Throws: anything when no whole answer came. The store may have done what was asked all the same.
    func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse
}
