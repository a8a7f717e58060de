import HTTPSupport
import NIOCore
import Testing

@Suite("A client's address", .timeLimit(.minutes(1)))
struct NetworkAddressTests {
    @Test func anAddressIsWhoIsBehindIt() throws {
        func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(text)) }
        #expect(try address("192.0.2.1") == address("::ffff:192.0.2.1"))
        #expect(try address("192.0.2.1") != address("192.0.2.2"))
        #expect(try address("2001:db8::1") == address("2001:db8::ffff:2"))
        #expect(try address("2001:db8::1") != address("2001:db8:0:1::1"))
        // The bits of one family are not those of the other.
        #expect(try address("0.0.0.1") != address("::1"))
        for wrong in ["", "a", "192.0.2", "192.0.2.1:80", "example.com", String(repeating: "1", count: 100)] {
            #expect(NetworkAddress(wrong) == nil)
        }
        #expect(NetworkAddress(nil as SocketAddress?) == NetworkAddress(nil as SocketAddress?))
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("192.0.2.9, 192.0.2.1:5678", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1"), ("unknown", "192.0.2.7"),
        ("a:80", "192.0.2.7"), ("[", "192.0.2.7"), (":", "192.0.2.7"),
    ])
    func `a proxy may add the client's port`(_ forwarded: String, _ client: String) throws {
        let proxy = try SocketAddress(ipAddress: "192.0.2.7", port: 80)
        let address = NetworkAddress(of: proxy, forwardedFor: forwarded, isBehindProxy: true)
        #expect(address == NetworkAddress(client))
        #expect(NetworkAddress(of: proxy, forwardedFor: forwarded, isBehindProxy: false) == NetworkAddress(proxy))
    }
}
