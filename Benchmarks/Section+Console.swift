import Foundation

extension Section {
    /// The console over a ledger of a million rows: its pages, the bytes of the first one, and what purchases pay for
    /// being watched.
    static let console = Section(name: "console") { setting in
        let store = try await StoreUnderLoad.start(largeLedger, hasConsole: true)
        defer { store.stop() }
        let console = try await ConsoleUnderLoad(store)
        let pages = try await pages(setting, console)
        let first = try await console.firstPage()
        print("  first page: \(first.bytes) bytes in \(first.requests) requests")
        let watched = try await watchedOverAlone(setting, store, console)
        return [
            .consolePageMilliseconds(pages.slowest), .consoleLedgerPageMilliseconds(pages.median),
            .consoleFirstPageKilobytes(Double(first.bytes) / 1000), .purchasesWatchedOverAlone(watched),
        ]
    }

    /// The console's pages over the same ledger in PostgreSQL.
    static let consolePostgreSQL = Section(name: "console-postgresql") { setting in
        guard let url = ProcessInfo.processInfo.environment["CORNERSTORE_TEST_POSTGRESQL"], !url.isEmpty else {
            print("  no PostgreSQL: run it through scripts/with-postgresql, as make bench does")
            return [.consolePostgreSQLPageMilliseconds(.nan), .consolePostgreSQLLedgerPageMilliseconds(.nan)]
        }
        let store = try await StoreUnderLoad.start(largeLedger, hasConsole: true, database: url)
        defer { store.stop() }
        let pages = try await pages(setting, try await ConsoleUnderLoad(store))
        return [
            .consolePostgreSQLPageMilliseconds(pages.slowest), .consolePostgreSQLLedgerPageMilliseconds(pages.median),
        ]
    }

    private static let largeLedger = Ledger(accounts: 100_000, transactions: 1_000_000)

    /// Asks for every page in turn.
    /// - Returns: in milliseconds, the 99th percentile of the slowest page, and the median of the slowest of those that
    ///   show many rows.
    private static func pages(
        _ setting: Setting, _ console: ConsoleUnderLoad
    ) async throws -> (slowest: Double, median: Double) {
        // One browser asks for one page after the other.
        let load = LoadGenerator(clients: 1, warmUp: setting.warmUp / 4, seconds: setting.seconds / 3)
        var (slowest, median) = (0.0, 0.0)
        for page in try await console.pages() {
            var result = try await load.run(port: console.port) { _, _ in LoadGenerator.get(page.path) }
            guard result.failed == 0, result.succeeded > 0 else {
                throw BenchmarkError("\(page.path): \(result.firstFailure ?? "no answer")")
            }
            result.latencies.sort()
            let (half, most) = (result.percentile(0.5), result.percentile(0.99))
            print(
                String(
                    format: "  %@ p50 %6.2f ms  p99 %6.2f ms  %d pages",
                    page.path.padding(toLength: 48, withPad: " ", startingAt: 0), half, most, result.succeeded))
            slowest = max(slowest, most)
            if page.isOfMany { median = max(median, half) }
        }
        return (slowest, median)
    }

    /// The rate of purchases while a browser shows the newest, over the rate without one.
    private static func watchedOverAlone(
        _ setting: Setting, _ store: StoreUnderLoad, _ console: ConsoleUnderLoad
    ) async throws -> Double {
        let purchases = try store.purchases()
        try await setting.load.settle(purchases)
        // The machine's speed drifts, so short rounds of both kinds follow each other.
        let load = LoadGenerator(clients: setting.clients, warmUp: setting.warmUp / 2, seconds: setting.seconds / 2)
        var (alone, watched): ([Double], [Double]) = ([], [])
        for round in 0..<max(setting.rounds * 4, 8) {
            let isWatched = round % 2 == 1
            let watcher = isWatched ? Task { try await console.watch() } : nil
            let found = try await load.compared([purchases], rounds: 1)
            watcher?.cancel()
            let pages = try await watcher?.value
            guard let rate = found.first?.rate else { throw BenchmarkError("purchases were not measured") }
            if isWatched { watched.append(rate) } else { alone.append(rate) }
            print(
                String(format: "  %.0f purchases a second", rate)
                    + (pages.map { ", watched: \($0) pages shown" } ?? ", not watched"))
        }
        return Rate.ratio(watched, alone)
    }
}

extension Figure {
    /// The time that 99 of 100 requests for the slowest page of the console do not exceed.
    static func consolePageMilliseconds(_ value: Double) -> Figure {
        Figure(name: "console-page-p99-ms", value: value, goal: .atMost(100))
    }
    /// The median time of the pages of transactions and of a customer, the slower of the two.
    static func consoleLedgerPageMilliseconds(_ value: Double) -> Figure {
        Figure(name: "console-ledger-page-p50-ms", value: value, goal: .atMost(20))
    }
    /// As ``consolePageMilliseconds(_:)``, on PostgreSQL.
    static func consolePostgreSQLPageMilliseconds(_ value: Double) -> Figure {
        Figure(name: "console-postgresql-page-p99-ms", value: value, goal: .atMost(100))
    }
    /// As ``consoleLedgerPageMilliseconds(_:)``, on PostgreSQL.
    static func consolePostgreSQLLedgerPageMilliseconds(_ value: Double) -> Figure {
        Figure(name: "console-postgresql-ledger-page-p50-ms", value: value, goal: .atMost(20))
    }
    /// The first page with style sheet, script and icon, uncompressed, in units of 1,000 bytes.
    static func consoleFirstPageKilobytes(_ value: Double) -> Figure {
        Figure(name: "console-first-page-kb", value: value, goal: .atMost(150))
    }
    /// Rate of purchases while a browser with 20 tabs shows the newest, over the rate without one.
    static func purchasesWatchedOverAlone(_ value: Double) -> Figure {
        Figure(name: "purchases-watched-over-alone", value: value, goal: .atLeast(0.97))
    }
}
