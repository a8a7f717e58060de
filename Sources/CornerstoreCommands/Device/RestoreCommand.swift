import ArgumentParser
import Foundation
import StoreKit
import StoreWire

/// `cornerstore restore`: what an app's “Restore purchases” button does, from the shell.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore an account's purchases on a device, as an app would.",
        discussion: """
            It goes through the same StoreKit as an app's button: non-consumables, subscriptions and free subscriptions that were finished on \
            any device come again as restored transactions, and are finished. Nothing is charged. What was bought and never finished is not \
            among them; see “cornerstore queue”.

              cornerstore restore
              cornerstore restore --device ./second-phone --account anna@example.com --password-file anna.txt
              cornerstore restore --username 5f1d2c3b-0a99-4e88-9d77-665544332211
              cornerstore restore --json | jq -r '.restored[].productId'

            In the sandbox the tester of the store's first start is meant when no account is named; production needs an account.
            """)

    @Option(help: ArgumentHelp("Only what was bought under this applicationUsername.", valueName: "name"))
    var username: String?
    @Option(
        help: ArgumentHelp(
            "Holds the password of --account; - for standard input. Asked for otherwise.", valueName: "file"),
        completion: .file())
    var passwordFile: String?
    @Flag(help: "Leave the restored transactions in the queue, for “cornerstore queue”.")
    var keep = false
    @OptionGroup var options: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        // A store that does not run is said before a password is asked for.
        _ = try options.control.data.addresses()
        let (email, password) = try customer()
        let device = try await options.shellDevice(of: email, mustExist: false)
        let signIn = SignIn(StoreCredentials(email: email, password: password))
        let sheet = ProgrammedPaymentSheet(confirm: { _ in .cancel }, signIn: { signIn.answer($0) })
        let (username, keep) = (username, keep)
        let report: RestoreReport
        do {
            report = try await Progress.during("Restoring") {
                try await device.use(sheet, late: "The store at \(device.store) did not answer in time.") {
                    try await ShellRestore(username: username, keepsThem: keep).perform()
                }
            }
        } catch let error as CommandError {
            guard signIn.wasRefused else { throw error }
            throw CommandError(.refused, "The store does not take this password of \(email).")
        }
        try Console.current.report(report, json: output.json) { report.text($0) }
    }

    private func customer() throws -> (email: String, password: String) {
        if let account = options.account {
            return (account, try PasswordPrompt.password(file: passwordFile, whose: account))
        }
        return try ShellCustomer.tester(options.environment.environment, in: options.control.data.directory)
    }
}

/// What was restored.
struct RestoreReport: Encodable, Sendable {
    /// In the order in which it was bought.
    var restored: [TransactionReport]
    /// Where the fresh app receipt lies.
    var receiptFile: String

    func text(_ style: Style) -> String {
        guard !restored.isEmpty else { return "There was nothing to restore.\n" + receipt(style) }
        let count = restored.count == 1 ? "One purchase" : "\(restored.count) purchases"
        return [
            style.good("Restored \(count.lowercased())."), TransactionReport.table(restored, style), receipt(style),
        ]
        .joined(separator: "\n")
    }

    private func receipt(_ style: Style) -> String { Table.fields([("receipt", receiptFile)], style) }
}

/// One restore through StoreKit, to the last finished transaction.
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
                // What an earlier run kept comes first, and is told and finished with the rest.
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

/// Turns the queue's calls into a stream.
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
