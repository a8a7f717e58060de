extension Section {
    /// The App Store Server API, its notifications and the OCSP responder, each on one core. Each request to the API
    /// has a new token, as those of Apple's libraries have.
    static let serverAPI = Section(name: "server-api") { setting in
        let setting = setting.withFewerRounds
        let store = try await StoreUnderLoad.start(
            Ledger(accounts: 1_000, transactions: 25_000, notifications: NotificationsUnderLoad.count(setting)),
            on: .forOneServer)
        defer { store.stop() }
        let key = try await ServerAPIKey.make(at: store.store)
        let transactions = try await transactionsOverRaw(setting, store, key)
        let histories = try await historiesOverSign(setting, store, key)
        let (bare, status) = try await compare(setting, try store.certificateStatus(), on: .forOneServer)
        let notifications = try await notificationsOverClient(setting, store)
        return [
            .signedTransactionOverRaw(transactions), .historyOverSign(histories),
            .notificationsOverClient(notifications), .certificateStatusOverBare(status.over(bare)),
        ]
    }

    /// Signed transactions by id over what one core does of a bare request, a check and a signature in sequence.
    private static func transactionsOverRaw(
        _ setting: Setting, _ store: StoreUnderLoad, _ key: ServerAPIKey
    ) async throws -> Double {
        let count = requests(setting, atMost: try P256Rates.measured(seconds: 0.3).rate(signatures: 1))
        let transactions = try store.signedTransactions(key, count)
        let bare = try await transactions.bareEqual(on: .forOneServer)
        defer { bare.child.stop() }
        var raw: [P256Rates] = []
        let found = try await setting.load.compared([bare, transactions], rounds: setting.rounds) {
            raw.append(try P256Rates.measured(seconds: 0.2))
        }
        for measurement in found { print(measurement.row) }
        guard found.count == 2 else { throw BenchmarkError("a server was not measured") }
        let yardstick = zip(found[0].rates, raw).map { 1 / (1 / $0 + 1 / $1.rate(signatures: 1)) }
        print(
            "  raw P-256, one core: verify \(Figure.format(Rate.median(raw.map(\.verify)))) /s, "
                + "sign \(Figure.format(Rate.median(raw.map(\.sign)))) /s; "
                + "with a bare request in sequence \(Figure.format(Rate.median(yardstick))) /s")
        return Rate.ratio(found[1].rates, yardstick)
    }

    /// The signatures of full pages of histories over raw signatures.
    private static func historiesOverSign(
        _ setting: Setting, _ store: StoreUnderLoad, _ key: ServerAPIKey
    ) async throws -> Double {
        let page = 20
        let rates = try P256Rates.measured(seconds: 0.3)
        let p256 = try P256Baseline()
        let anew = try store.histories(
            key, of: store.ledger.accounts, requests(setting, atMost: rates.rate(signatures: page)))
        let found = try await setting.load.compared(
            anew, with: { try Rate.perSecond(seconds: 0.3, rounds: 1, work: p256.sign) },
            rounds: setting.rounds)
        print(found.server.row)
        print("  raw P-256, one core: sign \(Figure.format(Rate.median(found.other))) /s")
        let kept = try store.histories(key, of: 10, requests(setting, atMost: rates.rate(signatures: 5)))
        for measurement in try await setting.load.compared([kept], rounds: setting.rounds) {
            print(measurement.row)
        }
        return Rate.ratio(found.server.rates, found.other) * Double(page)
    }

    /// Notifications over posts by the same HTTP client alone.
    private static func notificationsOverClient(_ setting: Setting, _ store: StoreUnderLoad) async throws -> Double {
        let notifications = try NotificationsUnderLoad(store)
        defer { notifications.stop() }
        let found = try await notifications.measured(setting)
        print(
            "  notifications \(Figure.format(Rate.median(found.store))) /s, "
                + "the same client alone \(Figure.format(Rate.median(found.client))) /s")
        return Rate.ratio(found.store, found.client)
    }

    /// Statuses of 1,000 customers in a store with many over those in a store with few.
    static func statusesOver(
        _ setting: Setting, _ few: StoreUnderLoad, _ many: StoreUnderLoad
    ) async throws -> Double {
        let setting = setting.withFewerRounds
        let cores = Double((Processors.forServers ?? .all).numbers.count)
        let count = requests(setting, atMost: cores * (try P256Rates.measured(seconds: 0.3).rate(signatures: 2)))
        let found = try await pair(
            setting, try few.statuses(try await ServerAPIKey.make(at: few.store), of: 1_000, count),
            try many.statuses(try await ServerAPIKey.make(at: many.store), of: 1_000, count))
        return found.1.over(found.0)
    }

    /// More requests than a run can use, and those that get the sizes. A server that checks every token and signs every
    /// payload is slower than the raw operations, which can be slow while they are measured.
    private static func requests(_ setting: Setting, atMost rate: Double) -> Int {
        Int(setting.load.secondsOfLoad(rounds: setting.rounds) * rate * 1.3) + setting.clients + 8
    }
}

extension Figure {
    /// Rate of signed transactions by id over that of a bare request, one P-256 check and one P-256 signature in
    /// sequence; one core.
    static func signedTransactionOverRaw(_ value: Double) -> Figure {
        Figure(name: "api-transaction-over-raw", value: value, goal: .atLeast(0.6))
    }
    /// Signatures a second in history pages of 20 transactions over the raw signing rate; one core.
    static func historyOverSign(_ value: Double) -> Figure {
        Figure(name: "api-history-over-sign", value: value, goal: .atLeast(0.5))
    }
    /// Rate of statuses of 1,000 customers among 1,000,000 over that among 1,000.
    static func statusesMillionOverThousand(_ value: Double) -> Figure {
        Figure(name: "api-statuses-1m-over-1k-subscribers", value: value, goal: .atLeast(0.9))
    }
    /// Rate of notifications to a receiver on this machine over that of the same HTTP client posting the same bodies;
    /// one core.
    static func notificationsOverClient(_ value: Double) -> Figure {
        Figure(name: "notifications-over-client", value: value, goal: .atLeast(0.4))
    }
    /// Rate of OCSP answers over a bare handler's; one core.
    static func certificateStatusOverBare(_ value: Double) -> Figure {
        Figure(name: "ocsp-over-bare", value: value, goal: .atLeast(0.4))
    }
}
