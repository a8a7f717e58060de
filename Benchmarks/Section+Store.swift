import Foundation

extension Section {
    /// The store over HTTP: `verifyReceipt` and durable purchases beside a bare handler of the same sizes, then both with a thousand times the
    /// ledger.
    static let store = Section(name: "store") { setting in
        let small = try await StoreUnderLoad.start(Ledger(accounts: 1_000, transactions: 1_000))
        defer { small.stop() }
        let verifying = try await compare(setting, try small.verifyReceipt())
        let subscription = try await alone(setting, try small.verifySubscription())
        let buying = try await compare(setting, try small.purchases())

        let large = try await StoreUnderLoad.start(Ledger(accounts: 20_000, transactions: 1_000_000))
        defer { large.stop() }
        // A fresh small one: the first has grown.
        let fresh = try await StoreUnderLoad.start(Ledger(accounts: 1_000, transactions: 1_000))
        defer { fresh.stop() }
        let verifyingLarge = try await pair(setting, try fresh.verifyReceipt(), try large.verifyReceipt())
        let subscriptionLarge = try await alone(setting, try large.verifySubscription())
        let buyingLarge = try await pair(setting, try fresh.purchases(), try large.purchases())

        let all = [verifying, buying, verifyingLarge, buyingLarge].flatMap { [$0.0, $0.1] } + [subscription, subscriptionLarge]
        let highest = all.filter { !$0.name.hasPrefix("bare") }.map(\.highestMemory).max() ?? 0
        let serverCores = Double((Processors.forServers ?? .all).numbers.count)
        return [
            .verifyReceiptOverBare(verifying.1.rate / verifying.0.rate),
            .verifyReceiptSubscriptionOverSign(subscription.rate / (setting.rsa.sign * serverCores)),
            .purchasesOverBare(buying.1.rate / buying.0.rate),
            .purchasesMillionOverThousand(buyingLarge.1.rate / buyingLarge.0.rate),
            .verifyReceiptMillionOverThousand(verifyingLarge.1.rate / verifyingLarge.0.rate),
            .residentMebibytes(Double(highest) / 1_048_576),
        ]
    }

    /// A bare handler of the same sizes first, then the server.
    private static func compare(
        _ setting: Setting, _ server: ServerUnderLoad
    ) async throws -> (ServerMeasurement, ServerMeasurement) {
        let bare = try await server.bareEqual()
        defer { bare.child.stop() }
        return try await pair(setting, bare, server)
    }

    private static func pair(
        _ setting: Setting, _ first: ServerUnderLoad, _ second: ServerUnderLoad
    ) async throws -> (ServerMeasurement, ServerMeasurement) {
        let found = try await setting.load.compared([first, second], rounds: setting.rounds)
        for measurement in found { print(measurement.row) }
        guard found.count == 2 else { throw BenchmarkError("a server was not measured") }
        return (found[0], found[1])
    }

    private static func alone(_ setting: Setting, _ server: ServerUnderLoad) async throws -> ServerMeasurement {
        let found = try await setting.load.compared([server], rounds: setting.rounds)
        guard let measurement = found.first else { throw BenchmarkError("the server was not measured") }
        print(measurement.row)
        return measurement
    }
}
