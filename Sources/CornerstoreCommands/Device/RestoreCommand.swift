import ArgumentParser
import Foundation
import StoreKit
import StoreWire

/// `cornerstore restore`: restores purchases, as an app's “Restore purchases” button does.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore an account's purchases on a device, as an app would.",
        discussion: """
            This command uses the same StoreKit as an app. It restores non-consumables, subscriptions and free subscriptions that were finished \
            on any device, and finishes the restored transactions. A restore is free. Unfinished purchases are not restored; see “cornerstore \
            queue”.

              cornerstore restore
              cornerstore restore --device ./second-phone --account anna@example.com --password-file anna.txt
              cornerstore restore --username 5f1d2c3b-0a99-4e88-9d77-665544332211
              cornerstore restore --json | jq -r '.restored[].productId'

            In the sandbox, the default account is the tester that the store created on its first start. In production, --account is required.
            """)

    @Option(help: ArgumentHelp("Restore only purchases with this applicationUsername.", valueName: "name"))
    var username: String?
    @OptionGroup var password: PasswordOptions
    @Flag(help: "Leave the restored transactions in the queue, for “cornerstore queue”.")
    var keep = false
    @OptionGroup var options: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        // Report a missing store before asking for a password.
        _ = try options.data.addresses()
        let customer = try options.customer(password)
        let device = try await options.shellDevice(of: customer.email, mustExist: false)
        let (username, keep) = (username, keep)
        let report = try await Progress.during("Restoring") {
            try await device.use(as: customer) {
                try await ShellRestore(username: username, keepsThem: keep).perform()
            }
        }
        try Console.current.report(report, json: output.json) { report.text($0) }
    }
}

/// The result of `cornerstore restore`.
struct RestoreReport: Encodable, Sendable {
    /// The restored transactions, in the order of purchase.
    var restored: [TransactionReport]
    /// The path of the refreshed app receipt.
    var receiptFile: String

    func text(_ style: Style) -> String {
        guard !restored.isEmpty else { return "No purchases to restore.\n" + receipt(style) }
        let count = restored.count == 1 ? "One purchase" : "\(restored.count) purchases"
        return [
            style.good("Restored \(count.lowercased())."), TransactionReport.table(restored, style), receipt(style),
        ]
        .joined(separator: "\n")
    }

    private func receipt(_ style: Style) -> String { Table.fields([("receipt", receiptFile)], style) }
}

/// One restore through StoreKit. It ends when the restored transactions are finished.
struct ShellRestore: Sendable {
    var username: String?
    var keepsThem: Bool

    func perform() async throws -> RestoreReport {
        let events = DeviceEvents()
        let queue = SKPaymentQueue.default()
        queue.add(events)
        defer { queue.remove(events) }
        queue.restoreCompletedTransactions(withApplicationUsername: username)
        var restored: [TransactionReport] = []
        for await event in events.stream {
            switch event {
            case .updated(let transactions):
                // Restored transactions that an earlier run kept come first. They are reported and finished like the
                // others.
                for transaction in transactions where transaction.transactionState == .restored {
                    restored.append(TransactionReport(transaction))
                    if !keepsThem { queue.finishTransaction(transaction) }
                }
            case .downloads: break
            case .restoreFailed(let text):
                throw CommandError(.refused, "Restoring failed: \(Style.printable(text))")
            case .restoreFinished:
                await queue.quiet()
                return RestoreReport(restored: restored, receiptFile: storeReceiptURL?.path ?? "")
            }
        }
        throw CancellationError()
    }
}

/// Turns the payment queue's observer calls into a stream.
final class DeviceEvents: NSObject, SKPaymentTransactionObserver {
    enum Event: Sendable {
        case updated([SKPaymentTransaction])
        case downloads([SKDownload])
        case restoreFinished
        case restoreFailed(String)
    }

    let stream: AsyncStream<Event>
    private let send: AsyncStream<Event>.Continuation

    override init() {
        (stream, send) = AsyncStream.makeStream(of: Event.self)
        super.init()
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        send.yield(.updated(transactions))
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        send.yield(.downloads(downloads))
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { send.yield(.restoreFinished) }

    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        send.yield(.restoreFailed(error.localizedDescription))
    }
}
