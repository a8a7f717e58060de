import Foundation

extension Section {
    /// Ten thousand transactions restored by an app, from its call to the end, and the memory of its process.
    static let restore = Section(name: "restore") { setting in
        let count = 10_000
        return try await Tester.withPurchases(count, isFinished: true) { store, data in
            guard let address = store.addresses["sandbox"] else { throw BenchmarkError("the store has no sandbox") }
            var seconds: [Double] = []
            var finishing: [Double] = []
            var mebibytes: [Double] = []
            for round in 0..<min(setting.rounds, 3) {
                // A new device each time, as after an app was installed again.
                let found = try AppProcess.found(
                    .restore, count, store: address, data: data, device: data.appending(path: "device-\(round)"))
                seconds.append(found.seconds)
                finishing.append(found.secondsToFinish ?? .nan)
                mebibytes.append(found.mebibytes)
            }
            print("  restored in \(list(seconds, "s")), finished in \(list(finishing, "s"))")
            print("  the app had \(list(mebibytes, "MiB")) resident at most")
            return [.restoreSeconds(Rate.median(seconds)), .restoreMebibytes(mebibytes.max() ?? .nan)]
        }
    }

    /// A queue that starts with a thousand unfinished transactions in its journal.
    static let queueStart = Section(name: "queue-start") { setting in
        let count = 1_000
        return try await Tester.withPurchases(count, isFinished: false) { store, data in
            guard let address = store.addresses["sandbox"] else { throw BenchmarkError("the store has no sandbox") }
            let device = data.appending(path: "device")
            // A restore signs in, and so brings what is unfinished into the journal.
            _ = try AppProcess.found(.fetch, count, store: address, data: data, device: device)
            let seconds = try (0..<setting.rounds).map { _ in
                try AppProcess.found(.start, count, store: address, data: data, device: device).seconds
            }
            print("  told of \(count) transactions after \(list(seconds, "s"))")
            return [.queueStartSeconds(Rate.median(seconds))]
        }
    }

    private static func list(_ values: [Double], _ unit: String) -> String {
        values.map(Figure.format).joined(separator: " ") + " " + unit
    }
}

extension Figure {
    /// From `restoreCompletedTransactions()` to its end with 10,000 transactions.
    static func restoreSeconds(_ value: Double) -> Figure {
        Figure(name: "restore-10k-seconds", value: value, goal: .atMost(10))
    }
    /// The most memory that the app had resident in that.
    static func restoreMebibytes(_ value: Double) -> Figure {
        Figure(name: "restore-10k-mib", value: value, goal: .atMost(200))
    }
    /// From the first use of the queue to the observer's call with 1,000 unfinished transactions of the journal.
    static func queueStartSeconds(_ value: Double) -> Figure {
        Figure(name: "queue-start-1k-seconds", value: value, goal: .atMost(0.2))
    }
}
