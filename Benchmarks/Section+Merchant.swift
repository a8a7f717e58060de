import Foundation

extension Section {
    private static let few = Books(users: 1_000)
    private static let many = Books(users: 1_000_000)

    /// The most frequent requests of apps and backends to the merchant, compared with a bare handler of the same sizes.
    static let merchantBalance = Section(name: "merchant-balance") { setting in
        try await withMerchant { merchant in
            let found = try await compare(setting, merchant.balances())
            return [.merchantBalanceOverBare(found.1.over(found.0))]
        }
    }

    static let merchantSpend = Section(name: "merchant-spend") { setting in
        try await withMerchant { merchant in
            try await setting.load.settle(merchant.spends())
            let found = try await compare(setting, merchant.spends())
            return [.merchantSpendOverBare(found.1.over(found.0))]
        }
    }

    static let merchantReceipt = Section(name: "merchant-receipt") { setting in
        try await withMerchant { merchant in
            try await setting.load.settle(merchant.spends())
            let setting = setting.withFewerRounds
            let found = try await compare(setting, try merchant.receipts(evidence(setting, aSecond: 18_000)))
            return [.merchantReceiptOverBare(found.1.over(found.0))]
        }
    }

    /// Signed transactions beside the raw signature, core for core; and, without a goal, what the machine does that
    /// also bears the load generator.
    static let merchantSigned = Section(name: "merchant-jws") { setting in
        let setting = setting.withFewerRounds
        let cores = Processors.forServers ?? .all
        let overVerify = try await signedOverVerify(setting, on: cores) / Double(cores.numbers.count)
        let all = Processors.all
        if all != cores {
            let machine = try await signedOverVerify(setting, on: all)
            print(String(format: "  over one core's checks, on all %d cores: %.2f", all.numbers.count, machine))
        }
        return [.merchantSignedOverVerify(overVerify)]
    }

    /// The rate of redemptions over that of one core's checks.
    private static func signedOverVerify(_ setting: Setting, on processors: Processors) async throws -> Double {
        try await withMerchant(on: processors) { merchant in
            try await setting.load.settle(merchant.spends())
            let p256 = try P256Baseline()
            let evidence = try merchant.signedTransactions(
                evidence(setting, aSecond: 20_000 * Double(processors.numbers.count)))
            let found = try await setting.load.compared(
                evidence, with: { try Rate.perSecond(seconds: 0.5, rounds: 1, work: p256.verify) },
                rounds: setting.rounds)
            print(found.server.row)
            print(String(format: "  raw P-256, one core: verify %.0f /s", Rate.median(found.other)))
            return Rate.ratio(found.server.rates, found.other)
        }
    }

    private static func withMerchant<Found>(
        on processors: Processors? = .forServers, _ body: (MerchantUnderLoad) async throws -> Found
    ) async throws -> Found {
        let merchant = try await MerchantUnderLoad.start(few, on: processors)
        defer { merchant.stop() }
        return try await body(merchant)
    }

    /// Redemption on PostgreSQL beside pgbench on the same server.
    static let merchantPostgreSQL = Section(name: "merchant-postgresql") { setting in
        guard let url = ProcessInfo.processInfo.environment["CORNERSTORE_TEST_POSTGRESQL"], !url.isEmpty else {
            print("  no PostgreSQL: run it through scripts/with-postgresql, as make bench does")
            return [.merchantPostgreSQLOverPgBench(.nan)]
        }
        let merchant = try await MerchantUnderLoad.start(few, database: url)
        defer { merchant.stop() }
        let receipts = try merchant.receipts(evidence(setting, aSecond: 4_000))
        let found = try await setting.load.compared(
            receipts, with: { try PgBench.rate(url, clients: 8, seconds: 1) }, rounds: setting.rounds)
        print(found.server.row)
        print(String(format: "  pgbench %.0f /s", Rate.median(found.other)))
        return [.merchantPostgreSQLOverPgBench(Rate.ratio(found.server.rates, found.other))]
    }

    /// Downloads of content from the merchant, measured like the store's hosted content.
    static let merchantContent = Section(name: "merchant-content") { setting in
        try await withMerchant { merchant in
            let offer = try await merchant.bookOffer(bytes: setting.contentMebibytes << 20)
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "cornerstore-nginx-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let found = try await offer.measured(setting, in: folder)
            return [
                .merchantDownloadOverNginx(found.overNginx), .merchantDownloadServerMebibytes(found.serverMebibytes),
                .merchantDownloadSlowestOverMedian(found.slowestOverMedian),
            ]
        }
    }

    /// Balances and spends with a thousand times the users, ten entries each.
    static let merchantMillion = Section(name: "merchant-million") { setting in
        let small = try await MerchantUnderLoad.start(few)
        defer { small.stop() }
        let large = try await MerchantUnderLoad.start(many)
        defer { large.stop() }
        let balances = try await pair(setting, small.balances(), large.balances())
        for merchant in [small, large] { try await setting.load.settle(merchant.spends()) }
        let spends = try await pair(setting, small.spends(), large.spends())
        return [
            .merchantBalanceMillionOverThousand(balances.1.over(balances.0)),
            .merchantSpendMillionOverThousand(spends.1.over(spends.0)),
        ]
    }

    /// More receipts than a run can use, and one for the request that gets the sizes.
    private static func evidence(_ setting: Setting, aSecond rate: Double) -> Int {
        Int(setting.load.secondsOfLoad(rounds: setting.rounds) * rate) + setting.clients + 1
    }
}

extension Figure {
    /// Rate of balance reads by users whose tokens are known over a bare handler's.
    static func merchantBalanceOverBare(_ value: Double) -> Figure {
        Figure(name: "merchant-balance-over-bare", value: value, goal: .atLeast(0.45))
    }
    /// Rate of spends on SQLite over a bare handler's.
    static func merchantSpendOverBare(_ value: Double) -> Figure {
        Figure(name: "merchant-spend-over-bare", value: value, goal: .atLeast(0.3))
    }
    /// Rate of redeeming app receipts with one new transaction each on SQLite over a bare handler's.
    static func merchantReceiptOverBare(_ value: Double) -> Figure {
        Figure(name: "merchant-receipt-over-bare", value: value, goal: .atLeast(0.3))
    }
    /// Rate of redeeming signed transactions on SQLite over that of raw P-256 checks.
    static func merchantSignedOverVerify(_ value: Double) -> Figure {
        Figure(name: "merchant-jws-over-p256", value: value, goal: .atLeast(0.3))
    }
    /// Rate of redeeming app receipts on PostgreSQL over pgbench's with as many statements.
    static func merchantPostgreSQLOverPgBench(_ value: Double) -> Figure {
        Figure(name: "merchant-receipt-over-pgbench", value: value, goal: .atLeast(0.3))
    }
    /// Rate of one download of content from the merchant over nginx's, of the same file to the same client.
    static func merchantDownloadOverNginx(_ value: Double) -> Figure {
        Figure(name: "merchant-download-over-nginx", value: value, goal: .atLeast(0.7))
    }
    /// The merchant's highest resident memory above idle while it served downloads.
    static func merchantDownloadServerMebibytes(_ value: Double) -> Figure {
        Figure(name: "merchant-download-server-mib", value: value, goal: .atMost(96))
    }
    /// The slowest of 64 concurrent downloads over their median.
    static func merchantDownloadSlowestOverMedian(_ value: Double) -> Figure {
        Figure(name: "merchant-64-slowest-over-median", value: value, goal: .atMost(1.5))
    }
    /// Rate of balance reads with 1,000,000 users and 10,000,000 entries over that with 1,000 and 10,000.
    static func merchantBalanceMillionOverThousand(_ value: Double) -> Figure {
        Figure(name: "merchant-balance-1m-over-1k", value: value, goal: .atLeast(0.9))
    }
    /// Rate of spends with 1,000,000 users and 10,000,000 entries over that with 1,000 and 10,000.
    static func merchantSpendMillionOverThousand(_ value: Double) -> Figure {
        Figure(name: "merchant-spend-1m-over-1k", value: value, goal: .atLeast(0.9))
    }
}
