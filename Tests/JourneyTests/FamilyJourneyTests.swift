import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("A family's purchases, from the store to the merchant", .timeLimit(.minutes(1)))
struct FamilyJourneyTests {
    @Test(arguments: Backend.available, [false, true])
    func `a member gets what the family shares, with rights and without credits`(
        _ backend: Backend, _ isRemote: Bool
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            try await JourneyMerchant.with(backend, store, isRemote: isRemote) { merchant async throws in
                let anna = try await JourneyDevice(store, email: "anna@example.com")
                let ben = try await JourneyDevice(store, email: "ben@example.com")
                let (ann, bob) = (try await merchant.token("ann"), try await merchant.token("bob"))
                func redeem(_ receipt: Data, as token: String) async throws -> HTTPReply {
                    try await merchant.send(
                        .redemptions, as: token, [UInt8](receipt), type: "application/octet-stream")
                }
                let created = try await store.control("POST", "families", #"{"account":"anna@example.com"}"#)
                #expect(created.status == 201)
                let added = try await store.control(
                    "POST", "families/anna@example.com/members", #"{"account":"ben@example.com"}"#)
                #expect(added.status == 200)

                var app = JourneyApp(anna.launch())
                for (index, product) in ["hats", "club.monthly"].enumerated() {
                    app.queue.add(payment(product))
                    _ = await app.told(index * 3 + 2)
                    app.queue.finishTransaction(try #require(app.latest))
                    _ = await app.told(index * 3 + 3)
                }
                let paid = try #require(try await anna.ledger().transactions.last)
                #expect(try await redeem(try anna.receipt(), as: ann).status == 200)
                #expect(try await merchant.credits(ann) == 7)
                await app.stop()

                // The subscription arrives as purchased, and the non-consumable when it is restored.
                app = JourneyApp(ben.launch())
                app.queue.restoreCompletedTransactions()
                let wanted = ["updated purchased club.monthly", "updated restored hats", "restore finished"]
                var count = 0
                while !wanted.allSatisfy({ line in app.history.contains { $0.contains(line) } }) {
                    count += 1
                    _ = await app.told(count)
                    try Task.checkCancellation()
                }
                #expect(ben.sheets.isEmpty)
                let answer = try await redeem(try ben.receipt(), as: bob).decoded(RedemptionAnswer.self)
                #expect(Set(answer.redeemed.map(\.productID)) == ["hats", "club.monthly"] && answer.refused.isEmpty)
                #expect(try await merchant.rights(bob) == ["hats": .active, "club": .active])
                #expect(try await merchant.credits(bob) == 0)
                #expect(try await ben.ledger().payments.isEmpty)
                await app.stop()

                // After the refund the member has no right to it, when the merchant asks the store.
                let refund = try await store.control("POST", "transactions/\(paid.id)/refund", "{}")
                #expect(refund.status == 200)
                if isRemote {
                    #expect(try await redeem(try ben.receipt(), as: bob).status < 500)
                    #expect(try await merchant.rights(bob)["club"] != .active)
                    #expect(try await merchant.rights(bob)["hats"] == .active)
                }
                #expect(try await merchant.application.merchant.checkBooks().findings == [])
            }
        }
    }
}
