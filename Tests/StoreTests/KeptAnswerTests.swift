import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// The answers of `verifyReceipt` that are kept while nothing changes.
@Suite(.timeLimit(.minutes(1))) struct KeptAnswerTests {
    /// A store with a subscriber, and the subscriber's receipt.
    private func withSubscriber(
        _ backend: Backend, _ body: (TestStore, Account, TransactionDescription, [UInt8]) async throws -> Void
    ) async throws {
        try await backend.withStore { test async throws in
            let account = try await test.account()
            let month = try await test.buy("club.monthly", by: account)
            try await body(test, account, month, try await test.appReceipt(account))
        }
    }

    /// An answer without the members of `request_date`.
    private func undated(_ answer: Answer) -> String {
        answer.text.replacing(/"request_date(_ms|_pst)?":"[^"]*",/, with: "")
    }

    @Test(arguments: Backend.available) func theSameReceiptGetsTheSameAnswer(_ backend: Backend) async throws {
        try await withSubscriber(backend) { test, _, _, receipt in
            let secret = test.sharedSecret
            let first = try await test.verify(receipt, password: secret)
            test.clock.milliseconds += 59_000
            let second = try await test.verify(receipt, password: secret)
            #expect(undated(second) == undated(first))
            let date = try dateForms(second.receipt, "request_date")
            #expect(date == test.clock.milliseconds)
            // Without old transactions it is another answer.
            let newest = try await test.verify(receipt, password: secret, excludingOld: true)
            #expect(undated(newest).count <= undated(first).count)
            // Then the receipt in the answer is made anew.
            test.clock.milliseconds += 2_000
            let third = try await test.verify(receipt, password: secret)
            #expect(third.latestReceipt != first.latestReceipt)
            #expect(third.latest.count == first.latest.count)
            // A receipt must not be from the future, either.
            test.clock.milliseconds -= 30_000
            #expect(try await test.verify(receipt, password: secret).latestReceipt != third.latestReceipt)
        }
    }

    @Test(arguments: Backend.available) func eachChangeIsAnsweredAtOnce(_ backend: Backend) async throws {
        try await withSubscriber(backend) { test, account, month, receipt in
            let original = month.transactionID
            var last = undated(try await test.verify(receipt, password: test.sharedSecret))
            func change(_ name: String, _ work: () async throws -> Void) async throws {
                try await work()
                let answer = try await test.verify(receipt, password: test.sharedSecret)
                #expect(answer.status == 0 && undated(answer) != last, "\(name)")
                last = undated(answer)
                let again = try await test.verify(receipt, password: test.sharedSecret)
                #expect(undated(again) == last, "\(name)")
            }
            try await change("auto-renew off") { _ = try await test.store.setAutoRenew(false, of: original) }
            try await change("auto-renew on") { _ = try await test.store.setAutoRenew(true, of: original) }
            try await change("an extension") {
                _ = try await test.renew(original)
                _ = try await test.store.extend(original, days: 3)
            }
            var credits: TransactionDescription?
            try await change("a purchase") { credits = try await test.buy("credits5", by: account) }
            let bought = try #require(credits)
            try await change("a finished consumable") {
                try await test.store.finish(bought.transactionID, of: account)
            }
            try await change("a renewal that is due") {
                let end = try await test.ledger().compactMap(\.expiresDate).max()
                test.clock.milliseconds = try #require(end)
            }
            try await change("a refund") {
                let newest = try await test.ledger().filter { $0.expiresDate != nil }.max {
                    $0.transactionID < $1.transactionID
                }
                _ = try await test.store.refund(try #require(newest).transactionID, reason: .app)
            }
        }
    }

    @Test(arguments: Backend.available) func aKeptAnswerIsNoWayAroundTheChecks(_ backend: Backend) async throws {
        try await withSubscriber(backend) { test, _, _, receipt in
            let secret = test.sharedSecret
            #expect(try await test.verify(receipt, password: secret).status == 0)
            #expect(try await test.verify(receipt).status == 21004)
            #expect(try await test.verify(receipt, password: secret + "0").status == 21004)
            // The same signature under other contents.
            let name = Array("club.monthly".utf8)
            let at = try #require(
                (0..<receipt.count - name.count).first { Array(receipt[$0..<$0 + name.count]) == name })
            var forged = receipt
            forged[at] = UInt8(ascii: "C")
            #expect(try await test.verify(forged, password: secret).status == 21003)
            #expect(try await test.verify(receipt, password: secret).status == 0)
            try await test.store.faults.order(.init(operation: .verifyReceipt, status: 21005, remaining: 1))
            #expect(try await test.verify(receipt, password: secret).status == 21005)
            #expect(try await test.verify(receipt, password: secret).status == 0)
        }
    }
}
