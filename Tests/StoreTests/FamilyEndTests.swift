import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Shares of a subscription that was charged ahead. Production charges a renewal a day before its period begins.
@Suite("Ends of shares", .timeLimit(.minutes(1))) struct FamilyEndTests {
    private static let hour: Int64 = 3_600_000

    /// After the refund of the period charged ahead, the end of a share takes the current period, too.
    @Test(arguments: Backend.available) func anEndedShareKeepsNoEarlierPeriod(_ backend: Backend) async throws {
        try await backend.withHousehold(.production) { home async throws in
            let first = try await home.test.buy("gym.monthly", by: home.anna)
            let end = try #require(first.expiresDate)
            try await home.store.changeClock { try $0.set(to: end - Self.hour) }
            let periods = try await home.ledger(home.anna)
            try #require(periods.count == 2)
            _ = try await home.store.refund(periods[1].transactionID, reason: .other)
            #expect(try await home.ledger(home.ben).map { $0.revokedAt == nil } == [true, false])
            _ = try await home.store.removeFromFamily(home.ben)
            #expect(try await home.ledger(home.ben).allSatisfy { $0.revokedAt != nil })
            _ = try await home.store.addToFamily(of: home.anna, home.ben)
            let open = try await home.ledger(home.ben).filter { $0.revokedAt == nil }
            #expect(open.map(\.sharedFrom) == [first.transactionID])
        }
    }

    /// The charge of a plan that may not be shared ends the shares, and nobody gets the period before it any more.
    @Test(arguments: Backend.available) func thePlanChargedLastDecidesWhatIsShared(_ backend: Backend) async throws {
        try await backend.withHousehold(.production) { home async throws in
            let first = try await home.test.buy("club.monthly", by: home.anna)
            _ = try await home.store.purchase(home.test.request("club.weekly"), by: home.anna)
            let end = try #require(first.expiresDate)
            try await home.store.changeClock { try $0.set(to: end - Self.hour) }
            #expect(try await home.ledger(home.anna).map(\.productID) == ["club.monthly", "club.weekly"])
            #expect(try await home.ledger(home.ben).allSatisfy { $0.revokedAt != nil })
            _ = try await home.store.addToFamily(of: home.anna, home.cleo)
            #expect(try await home.ledger(home.cleo).isEmpty)
            _ = try await home.store.setSharing(false, of: home.anna)
            _ = try await home.store.setSharing(true, of: home.anna)
            #expect(try await home.ledger(home.ben).allSatisfy { $0.revokedAt != nil })
            // A refund that is taken back changes nothing about that.
            _ = try await home.store.refund(first.transactionID, reason: .other)
            _ = try await home.store.reverseRefund(first.transactionID)
            #expect(try await home.ledger(home.cleo).isEmpty)
        }
    }
}
