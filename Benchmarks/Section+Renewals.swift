import AsyncHTTPClient
import Database
import Foundation
import Logging
import Store

extension Section {
    /// A step of the clock over very many renewals, and what purchases wait meanwhile. The yardstick is one connection
    /// that writes the same rows, 500 subscriptions in a transaction.
    static let renewals = Section(name: "renewals") { setting in
        let count = 100_000
        let due = Int64(Date().timeIntervalSince1970 * 1000) + 30 * 86_400_000
        let bare = try await rowsPerSecond(count)
        print(String(format: "  the rows of a renewal, written alone     %8.0f /s", bare))
        let store = try await StoreUnderLoad.start(
            Ledger(accounts: count, transactions: count, renewalDate: due), hasConsole: false)
        defer { store.stop() }
        let purchases = try store.purchases()
        async let seconds = step(store)
        let load = LoadGenerator(clients: 4, warmUp: 0.5, seconds: 5)
        var result = try await load.run(port: purchases.port, requests: purchases.requests)
        result.latencies.sort()
        let wait = result.percentile(0.99)
        let rate = Double(count) / (try await seconds)
        try await checkRenewal(of: [0, count - 1], at: store)
        print(String(format: "  renewals by a step of the clock           %8.0f /s", rate))
        print(
            String(
                format: "  purchases meanwhile                       p50 %6.2f ms  p99 %6.2f ms",
                result.percentile(0.5), wait))
        return [.renewalsOverRows(rate / bare), .purchaseBesideRenewalsMilliseconds(wait)]
    }

    /// `verifyReceipt`, statuses, purchases and a step of the clock over 10,000 renewals, in a store with 1,000,000
    /// subscribers and in small ones.
    static let subscribers = Section(name: "subscribers") { setting in
        let due = Int64(Date().timeIntervalSince1970 * 1000) + 30 * 86_400_000
        let many = try await StoreUnderLoad.start(
            Ledger(accounts: 1_000_000, transactions: 1_000_000, renewalDate: due, renewals: 10_000))
        defer { many.stop() }
        let few = try await StoreUnderLoad.start(Ledger(accounts: 1_000, transactions: 1_000, renewalDate: due))
        defer { few.stop() }
        let due10k = try await StoreUnderLoad.start(Ledger(accounts: 10_000, transactions: 10_000, renewalDate: due))
        defer { due10k.stop() }
        let verifying = try await pair(
            setting, try few.verifySubscription(), try many.verifySubscription(of: 1_000))
        let asking = try await statusesOver(setting, few, many)
        for store in [few, many] { try await setting.load.settle(try store.purchases(by: 1_000)) }
        let buying = try await pair(setting, try few.purchases(), try many.purchases(by: 1_000))
        let alone = try await step(due10k)
        let among = try await step(many)
        try await checkRenewal(of: [0, 9_999], at: many)
        print(
            String(
                format: "  10,000 renewals                           %8.0f /s, among 1,000,000 %8.0f /s",
                10_000 / alone,
                10_000 / among))
        return [
            .verifySubscribersMillionOverThousand(verifying.1.over(verifying.0)),
            .statusesMillionOverThousand(asking),
            .purchasesMillionSubscribersOverThousand(buying.1.over(buying.0)),
            .renewalsAmongMillionOverAlone(alone / among),
        ]
    }

    private static func checkRenewal(of accounts: [Int], at store: StoreUnderLoad) async throws {
        for account in accounts {
            let path = "/control/v1/sandbox/subscriptions?account=bench-\(account)@example.com"
            let state = try await OneRequest.answer(
                port: try store.store.port("control"), request: LoadGenerator.get(path))
            guard String(decoding: state, as: UTF8.self).contains("DID_RENEW") else {
                throw BenchmarkError("the subscription of bench-\(account)@example.com has not renewed")
            }
        }
    }

    /// Moves the clock by 31 days. Returns the seconds until everything that was due is done.
    private static func step(_ store: StoreUnderLoad) async throws -> Double {
        let began = ContinuousClock.now
        let port = try store.store.port("control")
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/control/v1/sandbox/clock")
        request.method = .PUT
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(Array(#"{"advance":2678400000}"#.utf8))
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(600))
        guard answer.status == .ok else { throw BenchmarkError("the clock answered \(answer.status.code)") }
        return (ContinuousClock.now - began) / .seconds(1)
    }

    /// Writes a purchase, a transaction, a subscription and its news for each, into a new database.
    private static func rowsPerSecond(_ count: Int) async throws -> Double {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = try await Database.open(
            .sqlite(path: folder.appending(path: "rows.sqlite").path), migrations: StoreSchema.migrations,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }))
        let began = ContinuousClock.now
        for start in stride(from: 0, to: count, by: 500) {
            try await database.write { connection in
                for number in start..<min(start + 500, count) {
                    try Ledger.insertTransaction(number, number, original: number, 0, Date(), connection)
                    try Ledger.insertSubscription(number, last: number, 0, connection)
                }
            }
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        await database.close()
        return Double(count) / seconds
    }
}

extension Figure {
    /// The rate of renewals in a step of the clock, over the rate at which one connection writes their rows.
    static func renewalsOverRows(_ value: Double) -> Figure {
        Figure(name: "renewals-over-rows", value: value, goal: .atLeast(0.5))
    }
    /// Rate of `verifyReceipt` with a subscription among 1,000,000 subscribers over that among 1,000.
    static func verifySubscribersMillionOverThousand(_ value: Double) -> Figure {
        Figure(name: "verifyreceipt-1m-over-1k-subscribers", value: value, goal: .atLeast(0.9))
    }
    /// Rate of purchases by 1,000 accounts among 1,000,000 subscribers over that among 1,000.
    static func purchasesMillionSubscribersOverThousand(_ value: Double) -> Figure {
        Figure(name: "purchases-1m-over-1k-subscribers", value: value, goal: .atLeast(0.9))
    }
    /// Rate of 10,000 renewals in a step of the clock among 1,000,000 subscriptions over that among 10,000.
    static func renewalsAmongMillionOverAlone(_ value: Double) -> Figure {
        Figure(name: "renewals-1m-over-10k-subscribers", value: value, goal: .atLeast(0.5))
    }
    /// The time that 99 of 100 purchases do not exceed while renewals are done.
    static func purchaseBesideRenewalsMilliseconds(_ value: Double) -> Figure {
        Figure(name: "purchase-beside-renewals-p99-ms", value: value, goal: .atMost(250))
    }
}
