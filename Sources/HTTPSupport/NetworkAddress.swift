import Glibc
public import NIOCore

/// The client behind an address, as far as it can be told: an IPv4 address, or the first 64 bits of an IPv6 address,
/// which one customer has to itself.
public struct NetworkAddress: Hashable, Sendable {
    private enum Kind: Hashable {
        case ipv4
        case ipv6
        /// A socket without an address, such as a Unix domain's.
        case other
    }

    private let kind: Kind
    private let bits: UInt64

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

    /// Whether the address is one of this machine's own (127.0.0.0/8 and ::1), or no network's at all.
    public var isLoopback: Bool {
        switch kind {
        case .ipv4: bits >> 24 == 127
        case .ipv6: bits == 0
        case .other: true
        }
    }

    /// An address as it is written in a header; nil for a text that is not an address.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 45, let address = try? SocketAddress(ipAddress: String(text), port: 0) else {
            return nil
        }
        self.init(address)
    }

    /// The client of a request: the other end of its connection or, behind a proxy, the address that the proxy added
    /// last to `X-Forwarded-For`.
    /// - Parameters:
    ///   - connection: the other end of the connection.
    ///   - forwardedFor: the last `X-Forwarded-For` field's value. Without a proxy it is the client's invention.
    public init(of connection: SocketAddress?, forwardedFor: String?, isBehindProxy: Bool) {
        if isBehindProxy, let last = forwardedFor?.split(separator: ",").last,
            let address = NetworkAddress(last.drop { $0 == " " }.prefix { $0 != " " })
        {
            self = address
        } else {
            self.init(connection)
        }
    }

    /// A text that stands for the address.
    public var text: String { "\(kind)-" + String(bits, radix: 16) }

    private init(ipv6 octets: [UInt8]) {
        // ::ffff:192.0.2.1 is the IPv4 address, seen through a socket of IPv6.
        let isMapped = octets.prefix(10).allSatisfy { $0 == 0 } && octets[10] == 0xFF && octets[11] == 0xFF
        kind = isMapped ? .ipv4 : .ipv6
        bits = (isMapped ? octets[12..<16] : octets[0..<8]).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
