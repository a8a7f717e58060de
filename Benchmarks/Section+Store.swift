import Foundation

extension Section {
    private static let small = Ledger(accounts: 1_000, transactions: 1_000)
    private static let large = Ledger(accounts: 20_000, transactions: 1_000_000)
    /// More subscribers than a store keeps answers for.
    private static let many = Ledger(accounts: 4_000, transactions: 4_000)
    private static let longSubscribed = Ledger(accounts: 16, transactions: 16 * 60, months: 60)

    /// `verifyReceipt` over HTTP beside a bare handler of the same sizes, and with a subscription, where it has to
    /// sign.
    static let verifyReceipt = Section(name: "verifyreceipt") { setting in
        let store = try await StoreUnderLoad.start(small)
        defer { store.stop() }
        let (bare, verifying) = try await compare(setting, try store.verifyReceipt())
        let subscribed = try await StoreUnderLoad.start(many)
        defer { subscribed.stop() }
        let rsa = try RSABaseline()
        let subscription = try await setting.load.compared(
            try subscribed.verifySubscription(), with: { try Rate.perSecond(seconds: 0.5, rounds: 1, work: rsa.sign) },
            rounds: setting.rounds)
        print(subscription.server.row)
        let cores = Double((Processors.forServers ?? .all).numbers.count)
        let long = try await StoreUnderLoad.start(longSubscribed)
        defer { long.stop() }
        let (longBare, again) = try await compare(setting, try long.verifySubscribers())
        return [
            .verifyReceiptOverBare(verifying.over(bare)),
            .verifyReceiptSixtyMonthsOverBare(again.over(longBare)),
            .verifyReceiptSubscriptionOverSign(Rate.ratio(subscription.server.rates, subscription.other) / cores),
        ]
    }

    /// Durable purchases over HTTP beside a bare handler of the same sizes.
    static let purchases = Section(name: "purchases") { setting in
        let store = try await StoreUnderLoad.start(small)
        defer { store.stop() }
        try await setting.load.settle(try store.purchases())
        let (bare, buying) = try await compare(setting, try store.purchases())
        return [.purchasesOverBare(buying.over(bare))]
    }

    /// Both with a thousand times the ledger, and the memory that all of it takes.
    static let million = Section(name: "million") { setting in
        let few = try await StoreUnderLoad.start(small)
        defer { few.stop() }
        let many = try await StoreUnderLoad.start(large)
        defer { many.stop() }
        let verifying = try await pair(setting, try few.verifyReceipt(), try many.verifyReceipt())
        let subscription = try await alone(setting, try many.verifySubscription())
        for store in [few, many] { try await setting.load.settle(try store.purchases()) }
        let buying = try await pair(setting, try few.purchases(), try many.purchases())
        let highest = [verifying.1, subscription, buying.0, buying.1].map(\.highestMemory).max() ?? 0
        return [
            .verifyReceiptMillionOverThousand(verifying.1.over(verifying.0)),
            .purchasesMillionOverThousand(buying.1.over(buying.0)),
            .residentMebibytes(Double(highest) / 1_048_576),
        ]
    }

    /// A bare handler of the same sizes first, then the server.
    /// - Parameter processors: the cores of the bare handler.
    static func compare(
        _ setting: Setting, _ server: ServerUnderLoad, on processors: Processors? = .forServers
    ) async throws -> (ServerMeasurement, ServerMeasurement) {
        let bare = try await server.bareEqual(on: processors)
        defer { bare.child.stop() }
        return try await pair(setting, bare, server)
    }

    static func pair(
        _ setting: Setting, _ first: ServerUnderLoad, _ second: ServerUnderLoad
    ) async throws -> (ServerMeasurement, ServerMeasurement) {
        let found = try await setting.load.compared([first, second], rounds: setting.rounds)
        for measurement in found { print(measurement.row) }
        guard found.count == 2 else { throw BenchmarkError("a server was not measured") }
        return (found[0], found[1])
    }

    static func alone(_ setting: Setting, _ server: ServerUnderLoad) async throws -> ServerMeasurement {
        let found = try await setting.load.compared([server], rounds: setting.rounds)
        guard let measurement = found.first else { throw BenchmarkError("the server was not measured") }
        print(measurement.row)
        return measurement
    }
}
