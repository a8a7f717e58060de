import ArgumentParser
import Foundation
import StoreKit
import StoreWire

/// `cornerstore queue`: what waits in a device's payment queue.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Show what waits in a device's payment queue, or finish it.",
        discussion: """
            What was bought, restored or refused and not finished, and what waits for the store or for somebody's approval: the device's journal, \
            with what the store holds unfinished for the account that is signed in there. It asks for no password, and buys nothing.

              cornerstore queue
              cornerstore queue --device ./second-phone --app com.example.app
              cornerstore queue --finish
              cornerstore queue --json | jq '.transactions | length'

            The device is the one of “cornerstore buy” for the same account, unless --device names another.
            """)

    @Flag(help: "Finish what was purchased, restored or failed, as an app does once it has delivered.")
    var finish = false
    @OptionGroup var options: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        _ = try options.control.data.addresses()
        let device = try await options.shellDevice(of: try options.email(), mustExist: true)
        guard DevicePlace.isDevice(device.folder) else {
            // Nobody has used it: there is no queue to look into, and looking is no reason to make one.
            let nothing = QueueReport(transactions: [], finished: [])
            return try Console.current.report(nothing, json: output.json) { nothing.text($0) }
        }
        // Nobody is there to answer: a payment that waits for the sheet goes on waiting.
        let sheet = ProgrammedPaymentSheet(
            confirm: { _ in
                try? await Task.sleep(for: .seconds(86_400))
                return .cancel
            }, signIn: { _ in nil })
        let finish = finish
        let report = try await Progress.during("Looking") {
            try await device.use(sheet, late: "The store at \(device.store) did not answer in time.") {
                await ShellQueue(finishes: finish).perform()
            }
        }
        try Console.current.report(report, json: output.json) { report.text($0) }
    }
}

/// A device's queue.
struct QueueReport: Encodable, Sendable {
    /// What is in it, oldest first; with `--finish`, what is left.
    var transactions: [TransactionReport]
    /// What was finished.
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

/// A look into the queue through StoreKit.
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
