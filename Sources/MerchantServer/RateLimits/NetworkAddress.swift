import Glibc
import NIOCore

/// Who is behind an address, as far as it can be told: an IPv4 address, or the first 64 bits of an IPv6 address, which one customer has to itself.
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

    /// An address as it is written in a header; nil for what is none.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 45, let address = try? SocketAddress(ipAddress: String(text), port: 0) else {
            return nil
        }
        self.init(address)
    }

    private init(ipv6 octets: [UInt8]) {
        // ::ffff:192.0.2.1 is the IPv4 address, seen through a socket of IPv6.
        let isMapped = octets.prefix(10).allSatisfy { $0 == 0 } && octets[10] == 0xFF && octets[11] == 0xFF
        kind = isMapped ? .ipv4 : .ipv6
        bits = (isMapped ? octets[12..<16] : octets[0..<8]).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
