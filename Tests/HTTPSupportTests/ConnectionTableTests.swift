import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct ConnectionTableTests {
    private static func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(text)) }

    @Test func eachAddressHasItsOwnPlaces() throws {
        let table = ConnectionTable(most: 2)
        let (one, other) = (try Self.address("192.0.2.1"), try Self.address("192.0.2.2"))
        let now = ContinuousClock.now
        for _ in 0..<2 { #expect(table.enter(one, at: now) == .counted) }
        // The operator is told once a minute.
        #expect(table.enter(one, at: now) == .refused(isToldOf: true))
        #expect(table.enter(one, at: now + .seconds(59)) == .refused(isToldOf: false))
        #expect(table.enter(one, at: now + .seconds(60)) == .refused(isToldOf: true))
        #expect(table.enter(other, at: now) == .counted)
        table.leave(one)
        #expect(table.enter(one, at: now) == .counted)
        for address in [one, one, other] { table.leave(address) }
        #expect(table.addresses == 0)
    }

    @Test func oneCustomersIPv6AddressesAreOne() throws {
        let table = ConnectionTable(most: 1)
        #expect(table.enter(try Self.address("2001:db8::1")) == .counted)
        #expect(table.enter(try Self.address("2001:db8::2")) == .refused(isToldOf: true))
        #expect(table.enter(try Self.address("2001:db8:0:1::1")) == .counted)
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    func thisMachineIsNotBounded(_ text: String) throws {
        let table = ConnectionTable(most: 1)
        for _ in 0..<100 { #expect(table.enter(try Self.address(text)) == .free) }
        #expect(table.addresses == 0)
    }

    @Test func aConnectionTooManyIsClosedAndTheOthersStay() async throws {
        let limits = ServerLimits(.init(connectionsPerAddress: 2))
        let lines = LogLines()
        let connections = ConnectionChannel(responder: { _, _, _ in }, limits: limits, configuration: .init())
        func connect() async throws -> (NIOAsyncTestingChannel, ConnectionChannel.Connection) {
            let channel = NIOAsyncTestingChannel()
            channel.remoteAddress = try SocketAddress(ipAddress: "192.0.2.7", port: 1)
            try await channel.connect(to: SocketAddress(ipAddress: "192.0.2.7", port: 1)).get()
            let connection = try await channel.testingEventLoop.executeInContext {
                connections.setup(channel: channel, logger: lines.logger)
            }.get()
            channel.pipeline.fireChannelActive()
            return (channel, connection)
        }
        let (first, second, third) = (try await connect(), try await connect(), try await connect())
        await connections.handle(value: third.1, logger: lines.logger)
        try await third.0.closeFuture.get()
        #expect(first.0.isActive && second.0.isActive)
        #expect(lines.all.count { $0.text.contains("192.0.2.7") && $0.level == .warning } == 1)
        // A place that becomes free is another's.
        try await first.0.close()
        let fourth = try await connect()
        #expect(!fourth.1.isRefused && fourth.0.isActive)
        for (channel, _) in [second, fourth] { try await channel.close() }
        #expect(limits.table.addresses == 0)
    }

    @Test func theSoftLimitOfOpenFilesIsRaisedToTheHardOne() {
        let before = OpenFiles.limit
        let after = OpenFiles.raise()
        #expect(after >= before && OpenFiles.limit == after)
        #expect(OpenFiles.raise() == after)
    }
}
