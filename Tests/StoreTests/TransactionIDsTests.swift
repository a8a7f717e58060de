import StoreWire
import Synchronization
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct TransactionIDsTests {
    private static let now: Int64 = 1_770_091_506_789

    private static func ids(
        _ environment: StoreEnvironment, highest: TransactionID? = nil, node: Int = 3, at now: Int64 = now
    ) -> TransactionIDs {
        TransactionIDs(environment, node: node, highest: highest, realMilliseconds: { now })
    }

    @Test(arguments: [Self.now, 1_735_689_600_000, 0, 2_808_000_000_000])
    func idsHaveTheirStoresLengthAndFitADouble(_ now: Int64) {
        let production = Self.ids(.production, at: now).next()
        #expect(production.description.utf8.count == 15 && production.environment == .production)
        let sandbox = Self.ids(.sandbox, at: now).next()
        #expect(
            sandbox.description.utf8.count == 16 && sandbox.description.first == "2" && sandbox.environment == .sandbox)
        for id in [production, sandbox] {
            #expect(id.rawValue < 1 << 53)
            #expect(TransactionID(id.description) == id)
        }
    }

    @Test func idsGrowInABurstAndWhenTheClockGoesBack() {
        let clock = Mutex(Self.now)
        let ids = TransactionIDs(.sandbox, node: 63, highest: nil, realMilliseconds: { clock.withLock { $0 } })
        var last = ids.next()
        for step in 0..<20_000 {
            if step % 1000 == 0 { clock.withLock { $0 += step % 3000 == 0 ? -3_600_000 : 20 } }
            let next = ids.next()
            #expect(next > last)
            last = next
        }
    }

    @Test func aRestartContinuesAboveTheHighestStoredId() {
        for environment in StoreEnvironment.allCases {
            let first = Self.ids(environment)
            let given = (0..<1000).map { _ in first.next() }
            for now in [Self.now, 0, Self.now - 86_400_000] {
                let next = Self.ids(environment, highest: given.last, at: now).next()
                #expect(next > given[999] && next.description.utf8.count == given[0].description.utf8.count)
            }
        }
    }

    @Test func anIdIsHigherThanThatOfANodeWhoseClockIsAhead() {
        for environment in StoreEnvironment.allCases {
            let ahead = Self.ids(environment, node: 63, at: Self.now + 2_000).next()
            let ids = Self.ids(environment, node: 0)
            let next = ids.next(above: ahead)
            #expect(next > ahead && next.environment == environment)
            // Later ones stay above it.
            #expect(ids.next() > next && ids.next(above: ahead) > next)
        }
    }

    @Test func anEarlierIdAndThatOfTheOtherEnvironmentHaveNoEffect() {
        for (environment, other) in [(StoreEnvironment.production, StoreEnvironment.sandbox), (.sandbox, .production)] {
            let expected = Self.ids(environment).next()
            #expect(Self.ids(environment).next(above: nil) == expected)
            #expect(Self.ids(environment).next(above: Self.ids(other, at: Self.now + 9_000).next()) == expected)
            #expect(Self.ids(environment).next(above: Self.ids(environment, at: Self.now - 9_000).next()) == expected)
            #expect(Self.ids(environment).next(above: TransactionID(rawValue: 0)) == expected)
            #expect(Self.ids(environment).next(above: TransactionID(rawValue: .max)) == expected)
        }
    }

    @Test func threadsAndNodesNeverGiveTheSameId() async {
        let nodes = (0..<4).map { Self.ids(.production, node: $0 * 20) }
        let all = await withTaskGroup(of: [TransactionID].self) { group in
            for node in nodes {
                for _ in 0..<4 { group.addTask { (0..<2500).map { _ in node.next() } } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(all).count == 40_000)
    }
}
