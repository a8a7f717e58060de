import ArgumentParser
import ControlWire
import Foundation

extension LedgerFilter.State: ExpressibleByArgument {}
extension ControlAPI.Attempt.State: ExpressibleByArgument {}

extension ControlAPI.Page {
    /// Says how the list continues when a filter left it shorter than it could be.
    /// - Parameter limit: the number of rows without a filter; nil for a table that does not show the cursor, whose
    ///   reader could not continue a full page either.
    func suggestNextPage(after limit: Int? = nil, with option: String) {
        guard let next, limit.map({ rows.count < $0 }) ?? true else { return }
        Console.current.remark("There may be more. Look further with \(option) \(next).")
    }
}

extension TransactionCommand {
    /// `cornerstore transaction show`: one transaction in full.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Show a transaction with its purchase, its deliveries and the other transactions of the purchase.",
            discussion: """
                  cornerstore transaction show 2000000000000123
                  cornerstore transaction show 2000000000000123 --json
                """)
        @Argument(help: "The transaction's id.")
        var id: String
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let detail: ControlAPI.TransactionDetail = try await control.client().send(
                .transaction(environment.environment, id: id))
            try Console.current.report(detail, json: output.json) { style in
                let transaction = detail.transaction
                let failure = detail.purchase?.failure
                let fields = Table.fields(
                    [
                        ("transaction", transaction.transactionId),
                        ("order", transaction.orderId), ("account", detail.email ?? transaction.accountId),
                        ("app", transaction.bundleId.isEmpty ? nil : transaction.bundleId),
                        ("product", transaction.productId), ("name", transaction.name), ("kind", transaction.kind),
                        ("quantity", "\(transaction.quantity)"),
                        ("price", "\(transaction.price) \(transaction.currency)"), ("storefront", detail.storefront),
                        ("purchased", transaction.purchaseDate), ("expires", transaction.expiresDate),
                        ("finished", transaction.finishedDate), ("refunded", transaction.revocationDate),
                        ("reason", transaction.revocationReason),
                        ("given back", transaction.refunded.map { "\($0) \(transaction.currency)" }),
                        ("replaced", transaction.isUpgraded == true ? "by a change of plan" : nil),
                        ("user name", detail.applicationUsername),
                        (
                            "offer",
                            detail.promotionalOfferId ?? detail.offerCodeName ?? detail.winBackOfferId ?? detail.offer
                        ),
                        ("payment", detail.purchase?.paymentReference), ("key", detail.purchase?.key.uuidString),
                        ("failure", failure.map { "\($0.code): \($0.message)" }),
                        ("deliveries", detail.deliveries.isEmpty ? nil : "\(detail.deliveries.count)"),
                    ], style)
                guard detail.chain.count > 1 else { return fields }
                return fields + "\n\n" + List.table(detail.chain).text(style)
            }
        }
    }

    /// `cornerstore transaction receipt`: the receipt of one transaction.
    struct Receipt: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Save the receipt of a transaction (iOS 6).",
            discussion: """
                  cornerstore transaction receipt 2000000000000123 --out coins.receipt
                """)
        @Argument(help: "The transaction's id.")
        var id: String
        @OptionGroup var options: ReceiptOptions
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions

        func run() async throws {
            try options.save(
                try await control.client().send(
                    .transactionReceipt(
                        environment.environment, id: id, version: options.version, device: options.device)))
        }
    }
}

/// The options of commands that save a receipt.
struct ReceiptOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var out: String
    @Option(name: .customLong("bundle-version"), help: "The app's CFBundleVersion in the receipt.")
    var version: String?
    @Option(help: ArgumentHelp("The device's identifierForVendor, to which the receipt is bound.", valueName: "uuid"))
    var device: String?

    func save(_ receipt: ControlAPI.Receipt) throws {
        guard let bytes = Data(base64Encoded: receipt.receipt) else {
            throw CommandError(.failed, "The control port's response has an unreadable receipt.")
        }
        do { try bytes.write(to: URL(fileURLWithPath: out)) } catch {
            throw CommandError(.failed, "Cannot write \(Style.printable(out)).")
        }
        Console.current.print("\(out)  \(bytes.count) bytes")
    }
}
