import StoreWire

/// The receiver of an app's notifications in one environment: the URL of App Store Server Notifications that the
/// operator set, the version that it gets, and the origins that it may redirect to.
public struct NotificationReceiver: Sendable, Equatable {
    /// The most origins.
    public static let mostOrigins = 16

    /// The address that notifications are posted to.
    public let address: NotificationAddress
    /// The origins that redirects may lead to, beside the address's own: `https://hooks.example.com`.
    public let redirectOrigins: [String]
    /// The version of the notifications.
    public let version: NotificationVersion

    /// Creates a receiver.
    /// - Parameters:
    ///   - url: an `https` URL, or an `http` URL of this machine.
    ///   - redirectOrigins: such URLs without a path.
    ///   - version: the version of the notifications.
    /// - Throws: ``StoreError`` `invalid_request`.
    public init(url: String, redirectOrigins: [String] = [], version: NotificationVersion = .two) throws {
        guard let address = NotificationAddress(url) else {
            throw StoreError(
                .invalidRequest,
                "The URL must be https, or http on this machine (127.0.0.1, localhost, [::1]), without a user name or "
                    + "a password.")
        }
        guard redirectOrigins.count <= Self.mostOrigins else {
            throw StoreError(.invalidRequest, "At most \(Self.mostOrigins) origins can be listed for redirects.")
        }
        self.address = address
        self.version = version
        self.redirectOrigins = try redirectOrigins.map { text in
            guard let origin = NotificationAddress(text), origin.target == "/" else {
                throw StoreError(
                    .invalidRequest,
                    "An origin for redirects must have the form https://host[:port], or http://… on this machine.")
            }
            return origin.origin
        }
    }

    /// Creates the receiver of a server that runs in this process, whatever address of the machine it listens on. It
    /// gets version 2. Nil for a malformed URL.
    public init?(inThisProcess url: String) {
        guard let address = NotificationAddress(url, isTrusted: true) else { return nil }
        self.address = address
        redirectOrigins = []
        version = .two
    }

    /// Reads what ``AppRegistry`` keeps. Nil without a URL.
    init?(url: String?, origins: String?, version: Int64) {
        guard let url, let address = NotificationAddress(url), let version = NotificationVersion(rawValue: version)
        else { return nil }
        self.address = address
        self.version = version
        redirectOrigins = (origins ?? "").split(separator: "\n").map(String.init)
    }

    /// The origins as ``AppRegistry`` keeps them.
    var originsText: String { redirectOrigins.joined(separator: "\n") }

    /// Whether a redirect may lead to an address.
    public func allows(_ other: NotificationAddress) -> Bool {
        other.origin == address.origin || redirectOrigins.contains(other.origin)
    }
}
