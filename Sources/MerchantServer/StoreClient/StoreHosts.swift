import Foundation
import Merchant

/// The hosts that answer `POST /verifyReceipt`.
public struct StoreHosts: Sendable, Equatable {
    /// The name that identifies purchases of these hosts: `apple`, or the production host's address.
    public let name: String
    let production: URL
    /// Nil when only one host is known.
    let sandbox: URL?

    /// Apple's hosts (developer.apple.com, "verifyReceipt").
    /// - Throws: ``MerchantServerError`` `invalidConfiguration`, which these addresses never cause.
    public static func apple() throws -> StoreHosts {
        StoreHosts(
            name: "apple", production: try endpoint("https://buy.itunes.apple.com"),
            sandbox: try endpoint("https://sandbox.itunes.apple.com"))
    }

    /// The hosts of a Cornerstore, by the base URLs of its production and sandbox ports.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` for an address that is neither https nor a loopback
    ///   host.
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
