import Foundation
import Logging
import Store
import StoreServer

/// Starts a store and its merchant, prints their addresses, and serves until the process receives a stop signal.
struct ServeAction {
    var configuration: StoreServerConfiguration
    /// The merchant's settings; nil for a store without a merchant.
    var merchant: MerchantSettings?
    /// The console's settings; nil for a store without a console.
    var console: ConsoleSettings?
    var logLevel: Logger.Level
    var logFormat: LogFormat

    func run(json: Bool) async throws {
        let console = Console.current
        let both = try await open(console)
        configuration.limits.tell(Self.logger(logLevel, logFormat))
        for note in both.store.catalogNotes { console.remark(console.style.dim("note: \(Style.printable(note))")) }
        try await both.run(gracefulShutdownSignals: StopSignals.all, console: self.console) { addresses in
            StopSignals.endAtTheSecond()
            let report = ServeReport(both, addresses)
            let configuration = both.store.configuration
            try? console.report(report, json: json) { report.text($0, configuration) }
        }
        if !json { console.print("Stopped.") }
    }

    private func open(_ console: Console) async throws -> StoreAndMerchant {
        let keys = configuration.dataDirectory.appendingPathComponent("authority")
        // Report an invalid catalog before creating any files.
        _ = try Catalog.load(files: configuration.catalogFiles)
        // Processes that share a store have its keys in the database.
        let isFirstStart = !configuration.isShared && !FileManager.default.fileExists(atPath: keys.path)
        if isFirstStart {
            console.remark(console.style.dim("First start: creating keys in \(configuration.dataDirectory.path)"))
        }
        return try await Progress.during(isFirstStart ? "Creating keys" : "Starting") {
            try await StoreAndMerchant.open(
                configuration, merchant: merchant, now: { Date() }, logger: Self.logger(logLevel, logFormat))
        }
    }

    /// Returns a logger that writes to standard error, because standard output is for the result.
    static func logger(_ level: Logger.Level, _ format: LogFormat = .text) -> Logger {
        var logger = Logger(label: "cornerstore") { label in
            switch format {
            case .text: StreamLogHandler.standardError(label: label)
            case .json: JSONLogHandler(label: label)
            }
        }
        logger.logLevel = level
        return logger
    }
}
