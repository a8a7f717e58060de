import Foundation
import Merchant

/// The hosts that answer `POST /verifyReceipt`.
public struct StoreHosts: Sendable, Equatable {
    /// What purchases of these hosts are told apart by: `apple`, or the production host's address.
    public let name: String
    let production: URL
    /// nil when only one host is known.
    let sandbox: URL?

    /// Apple's (developer.apple.com, "verifyReceipt").
    public static func apple() throws -> StoreHosts {
        StoreHosts(
            name: "apple", production: try endpoint("https://buy.itunes.apple.com"),
            sandbox: try endpoint("https://sandbox.itunes.apple.com"))
    }

    /// A Cornerstore, by the base URLs of its production and sandbox ports.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` for an address that is neither https nor on this machine.
    public static func cornerstore(production: String, sandbox: String?) throws -> StoreHosts {
        let first = try endpoint(production)
        return StoreHosts(
            name: first.deletingLastPathComponent().absoluteString.trimmingSuffix("/"), production: first,
            sandbox: try sandbox.map(endpoint))
    }

    private static func endpoint(_ base: String) throws -> URL {
        try OutgoingHTTP.url(base.trimmingSuffix("/"), for: "the store").appendingPathComponent("verifyReceipt")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
