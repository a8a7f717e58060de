import Foundation
import KillTesting
import MerchantWire
import StoreWire
import TestSupport
import Testing

@Suite("Several merchants", .serialized, .timeLimit(.minutes(1)))
struct SeveralMerchantsTests {
    /// Two processes over one place, with a backend that listens.
    private func withTwo(
        items: [String] = [],
        _ body: @escaping @Sendable (MerchantProcess, MerchantProcess, WebhookLog) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await Backend.postgresql.withLocation { location async throws in
                guard case .postgresql(let url, let schema, _) = location else { return }
                let webhooks = WebhookLog()
                let plain = try await MerchantSetup(
                    Programs.built(), folder: directory.url, databaseURL: url, schema: schema, items: items)
                try await LoopbackServer.with(webhooks.router) { url in
                    var setup = plain
                    setup.webhook = url.absoluteString + "hook"
                    let (one, two) = (try MerchantProcess(setup), try MerchantProcess(setup))
                    do {
                        // At the same moment, also on a database that is not there yet.
                        async let first: Void = one.start()
                        async let second: Void = two.start()
                        _ = try await (first, second)
                        try await body(one, two, webhooks)
                    } catch {
                        await one.stop()
                        await two.stop()
                        throw error
                    }
                    #expect(await one.stop())
                    #expect(await two.stop())
                }
            }
        }
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql)))
    func `two processes on one PostgreSQL behave as one`() async throws {
        try await withTwo(items: ["book"]) { one, two, webhooks async throws in
            let setup = one.setup
            let (here, there) = (MerchantCaller(one), MerchantCaller(two))
            let key = try await setup.makeKey("backend")
            let (ann, bob) = (try await setup.token("ann"), try await setup.token("bob"))
            // A key that neither has made is good at both.
            for caller in [here, there] { #expect(try await caller.settle(.adminProducts, as: key).status == 200) }

            // The same transactions at both, for different users: each is one's.
            let transactions = (1...60).map { "20000000000000\($0 + 100)".suffix(16) }.map(String.init)
            let won = try await withThrowingTaskGroup(of: (String, Bool, Bool).self) { group in
                for transaction in transactions {
                    let proof = try setup.signed("coins", transaction)
                    group.addTask {
                        async let first = here.settle(.redemptions, as: ann, proof, type: "application/jose")
                        async let second = there.settle(.redemptions, as: bob, proof, type: "application/jose")
                        let answers = try await [first, second]
                        for answer in answers where answer.status != 200 {
                            #expect(answer.code == "already_redeemed")
                        }
                        return (transaction, answers[0].status == 200, answers[1].status == 200)
                    }
                }
                return try await group.reduce(into: [(String, Bool, Bool)]()) { $0.append($1) }
            }
            #expect(won.allSatisfy { $0.1 != $0.2 })
            let anns = won.filter(\.1).map(\.0)

            // A refund that both are told of at the same time is taken back once.
            let refunded = Array(anns.prefix(8)) + Array(won.filter(\.2).map(\.0).prefix(8))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for transaction in refunded {
                    let news = try setup.notification("REFUND", "coins", transaction, id: UUID().uuidString)
                    for caller in [here, there] {
                        group.addTask {
                            let reply = try await caller.settle(.notifications, as: nil, news)
                            #expect(reply.status == 200)
                        }
                    }
                }
                try await group.waitForAll()
            }

            // Spends race to zero over both, each key at both.
            let before = try await here.settle(.balances(), as: ann).decoded(BalanceList.self).amount(of: "coins")
            #expect(before == Int64(anns.count - min(anns.count, 8)) * MerchantSetup.credits)
            let price: Int64 = 150
            let spent = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<(Int(before / price) + 10) {
                    let body = Array(
                        try JSONEncoder().encode(SpendRequest(key: "k\(number)", currency: "coins", amount: price)))
                    group.addTask {
                        async let first = here.settle(.spends, as: ann, body)
                        async let second = there.settle(.spends, as: ann, body)
                        let answers = try await [first, second]
                        for answer in answers where answer.status != 200 {
                            #expect(answer.code == "insufficient_balance")
                        }
                        let bought = answers.filter { $0.status == 200 }
                        if bought.count == 2 { #expect(bought[0].body == bought[1].body) }
                        return bought.isEmpty ? 0 : 1
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(Int64(spent) == before / price)
            let after = try await there.settle(.balances(), as: ann).decoded(BalanceList.self).amount(of: "coins")
            #expect(after == before - Int64(spent) * price)

            // A product that one puts on sale, the other serves, and redeems at once.
            let route = MerchantRoute.putProduct(BundleID(MerchantSetup.bundleID), "new")
            let product = Array(#"{"kind": "consumable", "grants": [{"credits": 7, "currency": "pearls"}]}"#.utf8)
            #expect(try await here.settle(route, as: key, product).status == 200)
            let changed = ContinuousClock.now
            let proof = try setup.signed("new", "2000000000000009")
            #expect(
                try await there.settle(.redemptions, as: bob, proof, type: "application/jose").status == 200)
            let list = MerchantRoute.products(BundleID(MerchantSetup.bundleID))
            var served = false
            // Within a second, on a machine that has the time.
            while !served, ContinuousClock.now - changed < .seconds(60) {
                served = try await there.settle(list, as: nil).decoded(ProductList.self).products.contains {
                    $0.productID == "new"
                }
            }
            #expect(served)

            // Content that one has taken in, the other delivers.
            let bytes = Array(String(repeating: "All about monkeys. ", count: 50_000).utf8)
            #expect(try await here.settle(.putContent("book"), as: key, bytes, type: "text/plain").status == 201)
            let bought = try setup.signed("get-book", "2000000000000010")
            #expect(try await there.settle(.redemptions, as: ann, bought, type: "application/jose").status == 200)
            for caller in [here, there] {
                let file = try await caller.settle(.contentFile("book"), as: ann)
                #expect(file.status == 200 && file.body == bytes)
            }

            // Every event was sent, and none by both.
            let expected = transactions.count + refunded.count + spent + 2
            await webhooks.wait(within: .seconds(60)) { $0 >= expected }
            #expect(webhooks.events.count == expected && webhooks.count == expected && webhooks.changed == [])
            let books = try await setup.command(["check"])
            #expect(books.status == 0, "\(books.output)")
        }
    }

    @Test func `a second server on one SQLite folder names the first, and the operator's commands work`()
        async throws
    {
        try await TemporaryDirectory.with { directory async throws in
            let setup = try await MerchantSetup(
                Programs.built(), folder: directory.url, databaseURL: nil, schema: "unused", items: [])
            let (one, two) = (try MerchantProcess(setup), try MerchantProcess(setup))
            try await one.start()
            let (status, errors) = try await two.startInVain()
            #expect(status == 1)
            let owner = try String(
                contentsOf: setup.data.appendingPathComponent("lock"), encoding: .utf8
            ).trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(errors.contains("in use by another merchant (process \(owner))") && errors.contains("--database"))
            _ = try await setup.makeKey("beside")
            for command in [["check"], ["products", "list"], ["key", "list"]] {
                #expect(try await setup.command(command).status == 0)
            }
            #expect(await one.kill())
            // A killed one holds nothing.
            try await two.start()
            #expect(await two.stop())
        }
    }
}
