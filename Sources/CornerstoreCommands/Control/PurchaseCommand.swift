import ArgumentParser
import ControlWire
import Foundation
import StoreWire

/// `cornerstore purchase`: shows and settles purchases that wait for approval or were interrupted.
struct PurchaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purchase",
        abstract: "Show and settle purchases that wait for approval or were interrupted.",
        discussion: """
              cornerstore account change child@example.com --asks-to-buy on
              cornerstore purchase pending
              cornerstore purchase approve 8C5B3A5E-…
              cornerstore account change anna@example.com --interrupts on
              cornerstore purchase resolve 8C5B3A5E-…
            """,
        subcommands: [Pending.self, Approve.self, Resolve.self, Decline.self], defaultSubcommand: Pending.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        /// Completes a purchase at the store by sending `route`, and reports the result.
        /// - Throws: ``CommandError`` when the payment failed.
        func settle(_ key: Key, _ route: ControlRoute, _ done: String) async throws {
            let answer: PurchaseResponse = try await control.client().send(route)
            if let failure = answer.failure {
                throw CommandError(.refused, "\(done), but the payment failed: \(failure.message)")
            }
            let settled = Settled(
                key: key.uuid, state: answer.state.rawValue,
                transactionId: answer.transaction?.transactionID.description)
            try Console.current.report(settled, json: output.json) { style in
                style.good("\(done).") + (settled.transactionId.map { " Transaction \($0)." } ?? "")
            }
        }
    }

    /// The state of a settled purchase.
    struct Settled: Codable {
        var key: UUID
        var state: String
        var transactionId: String?
    }

    struct Key: ExpressibleByArgument {
        var uuid: UUID

        init?(argument: String) {
            guard let uuid = UUID(uuidString: argument) else { return nil }
            self.uuid = uuid
        }
    }

    struct Pending: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the pending purchases.")
        @OptionGroup var options: Options

        func run() async throws {
            let purchases: [ControlAPI.PendingPurchase] = try await options.control.client().send(
                .pendingPurchases(options.environment.environment))
            try Console.current.report(purchases, json: options.output.json) { style in
                guard !purchases.isEmpty else { return "No pending purchases." }
                let rows = purchases.map { purchase in
                    [
                        purchase.key.uuidString, String(purchase.createdDate.prefix(19)), purchase.bundleId,
                        purchase.productId,
                        "\(purchase.quantity)", purchase.waitsFor.rawValue,
                    ]
                }
                return Table(heading: ["key", "asked", "app", "product", "quantity", "waits for"], rows: rows).text(
                    style)
            }
        }
    }

    struct Approve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Approve a purchase. The store charges and delivers it now.")
        @Argument(help: "The purchase's key, as shown by “cornerstore purchase pending”.")
        var key: Key
        @OptionGroup var options: Options

        func run() async throws {
            try await options.settle(
                key, .approve(options.environment.environment, key: key.uuid), "Approved")
        }
    }

    struct Resolve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Complete an interrupted purchase. The store charges and delivers it now.")
        @Argument(help: "The purchase's key, as shown by “cornerstore purchase pending”.")
        var key: Key
        @OptionGroup var options: Options

        func run() async throws {
            try await options.settle(
                key, .resolve(options.environment.environment, key: key.uuid), "Completed")
        }
    }

    struct Decline: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Decline a purchase.")
        @Argument(help: "The purchase's key, as shown by “cornerstore purchase pending”.")
        var key: Key
        @OptionGroup var options: Options

        func run() async throws {
            try await options.control.client().perform(
                .decline(options.environment.environment, key: key.uuid))
            let settled = Settled(key: key.uuid, state: "declined", transactionId: nil)
            try Console.current.report(settled, json: options.output.json) { _ in "Declined." }
        }
    }
}
