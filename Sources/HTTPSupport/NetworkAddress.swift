import Glibc
public import NIOCore

/// The address that identifies a client: an IPv4 address, or the first 64 bits of an IPv6 address, which belong to one
/// customer.
public struct NetworkAddress: Hashable, Sendable {
    private enum Kind: Hashable {
        case ipv4
        case ipv6
        /// A socket without an address, such as a Unix domain's.
        case other
    }

    private let kind: Kind
    private let bits: UInt64

    /// Creates the address of a socket; nil is a socket without a network address.
    public init(_ address: SocketAddress?) {
        switch address {
        case .v4(let address):
            kind = .ipv4
            bits = UInt64(UInt32(bigEndian: address.address.sin_addr.s_addr))
        case .v6(let address):
            var octets = address.address.sin6_addr
            self = withUnsafeBytes(of: &octets) { Self(ipv6: Array($0)) }
        case .unixDomainSocket, nil:
            kind = .other
            bits = 0
        }
    }

    /// Whether the address is a loopback address (127.0.0.0/8 or ::1) or not a network address at all.
    public var isLoopback: Bool {
        switch kind {
        case .ipv4: bits >> 24 == 127
        case .ipv6: bits == 0
        case .other: true
        }
    }

    /// Reads an address as it is written in a header. Returns nil for a text that is not an address.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 45, let address = try? SocketAddress(ipAddress: String(text), port: 0) else {
            return nil
        }
        self.init(address)
    }

    /// Finds the client of a request: the peer of its connection or, behind a proxy, the address that the proxy added
    /// last to `X-Forwarded-For`.
    /// - Parameters:
    ///   - connection: the address of the connection's peer.
    ///   - forwardedFor: the value of the last `X-Forwarded-For` field. Without a proxy the client can write anything
    ///     there.
    ///   - isBehindProxy: whether to trust `forwardedFor`.
    public init(of connection: SocketAddress?, forwardedFor: String?, isBehindProxy: Bool) {
        if isBehindProxy, let last = forwardedFor?.split(separator: ",").last,
            let address = NetworkAddress(forwarded: last.drop { $0 == " " }.prefix { $0 != " " })
        {
            self = address
        } else {
            self.init(connection)
        }
    }

    /// Reads an address of `X-Forwarded-For`. Some proxies add the client's port: `192.0.2.1:80`, `[2001:db8::1]:80`.
    private init?(forwarded text: Substring) {
        if text.first == "[" {
            self.init(text.dropFirst().prefix { $0 != "]" })
        } else if text.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
            self.init(text.prefix { $0 != ":" })
        } else {
            self.init(text)
        }
    }

    /// A text that is unique to the address.
    public var text: String { "\(kind)-" + String(bits, radix: 16) }

    private init(ipv6 octets: [UInt8]) {
        // ::ffff:192.0.2.1 is an IPv4 address on an IPv6 socket.
        let isMapped = octets.prefix(10).allSatisfy { $0 == 0 } && octets[10] == 0xFF && octets[11] == 0xFF
        kind = isMapped ? .ipv4 : .ipv6
        bits = (isMapped ? octets[12..<16] : octets[0..<8]).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
