import Foundation
import Logging
import Store
import StoreServer
import UnixSignals

/// Starts a store, says where it answers, and serves until the process is told to stop.
struct ServeAction {
    var configuration: StoreServerConfiguration
    var logLevel: Logger.Level

    func run(json: Bool) async throws {
        let console = Console.current
        let application = try await open(console)
        for note in application.catalogNotes { console.remark(console.style.dim("note: \(Style.printable(note))")) }
        try await application.run(gracefulShutdownSignals: [.sigterm, .sigint]) { addresses in
            let report = ServeReport(application, addresses)
            try? console.report(report, json: json) { report.text($0) }
        }
        if !json { console.print("Stopped.") }
    }

    private func open(_ console: Console) async throws -> StoreApplication {
        let keys = configuration.dataDirectory.appendingPathComponent("authority")
        // A bad catalog is told of before anything is made.
        _ = try Catalog.load(files: configuration.catalogFiles)
        let isFirstStart = !FileManager.default.fileExists(atPath: keys.path)
        if isFirstStart {
            console.remark(console.style.dim("First start: making keys in \(configuration.dataDirectory.path)"))
        }
        return try await Progress.during(isFirstStart ? "Making keys" : "Starting") {
            try await StoreApplication.open(configuration, now: { Date() }, logger: Self.logger(logLevel))
        }
    }

    /// Writes to standard error, since standard output belongs to the result.
    static func logger(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "cornerstore", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = level
        return logger
    }
}
