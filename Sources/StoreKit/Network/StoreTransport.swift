import Foundation
import StoreWire

/// One request to the store.
struct StoreTransportRequest: Sendable {
    var route: StoreRoute
    /// The JSON body; nil for a request without a body.
    var body: Data?
    /// The bearer token; secret.
    var token: String?
}

/// A response from the store, with any status.
struct StoreTransportResponse: Sendable {
    var status: Int
    var body: Data
}

/// Sends requests to the store.
protocol StoreTransport: Sendable {
    /// Sends a request and returns the response.
    ///
    /// - Throws: any error when no complete response arrives. The store may have performed the request.
    func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse
}
