import ArgumentParser
import Foundation
import StoreKit
import StoreWire

/// `cornerstore queue`: shows or finishes the transactions in a device's payment queue.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Show or finish the transactions in a device's payment queue.",
        discussion: """
            The queue contains unfinished transactions (purchased, restored or failed) and payments that wait for the store or for approval. \
            They come from the device's journal and from the store, for the account that is signed in on the device. The command asks for no \
            password and buys nothing.

              cornerstore queue
              cornerstore queue --device ./second-phone --app com.example.app
              cornerstore queue --finish
              cornerstore queue --json | jq '.transactions | length'

            The default device is the one that “cornerstore buy” uses for the account.
            """)

    @Flag(help: "Finish purchased, restored and failed transactions, as an app does after delivery.")
    var finish = false
    @OptionGroup var options: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        _ = try options.data.addresses()
        let device = try await options.shellDevice(of: try options.email(), mustExist: true)
        guard DevicePlace.isDevice(device.folder) else {
            // The device was never used, so its queue is empty. This command does not create a device.
            let nothing = QueueReport(transactions: [], finished: [])
            return try Console.current.report(nothing, json: output.json) { nothing.text($0) }
        }
        // The sheet never answers, so a payment that waits for it stays in the queue.
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in
                try? await Task.sleep(for: .seconds(86_400))
                return .cancel
            }, signIn: { _ in nil })
        let finish = finish
        let report = try await Progress.during("Reading the queue") {
            try await device.use(sheet) {
                await ShellQueue(finishes: finish).perform()
            }
        }
        try Console.current.report(report, json: output.json) { report.text($0) }
    }
}

/// The result of `cornerstore queue`.
struct QueueReport: Encodable, Sendable {
    /// The transactions in the queue, oldest first. With `--finish`, the remaining ones.
    var transactions: [TransactionReport]
    /// The transactions that this command finished.
    var finished: [TransactionReport]

    func text(_ style: Style) -> String {
        var parts: [String] = []
        if !finished.isEmpty {
            parts = [style.good("Finished \(finished.count)."), TransactionReport.table(finished, style)]
        }
        if transactions.isEmpty {
            parts.append("The queue is empty.")
        } else {
            parts.append(TransactionReport.table(transactions, style))
        }
        return parts.joined(separator: "\n")
    }
}

/// Reads the queue through StoreKit and finishes its transactions if requested.
struct ShellQueue: Sendable {
    var finishes: Bool

    func perform() async -> QueueReport {
        let events = DeviceEvents()
        let queue = SKPaymentQueue.default()
        queue.add(events)
        defer { queue.remove(events) }
        await queue.quiet()
        var finished: [TransactionReport] = []
        if finishes {
            for transaction in queue.transactions
            where [.purchased, .restored, .failed].contains(transaction.transactionState) {
                finished.append(TransactionReport(transaction))
                queue.finishTransaction(transaction)
            }
            await queue.quiet()
        }
        return QueueReport(transactions: queue.transactions.map { TransactionReport($0) }, finished: finished)
    }
}
