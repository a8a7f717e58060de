import ArgumentParser
import ControlWire
import Foundation
import StoreWire

/// `cornerstore product`: creates, changes and reviews the products of managed apps.
struct ProductCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "product",
        abstract: "Create, change, submit and review the products of apps whose catalog the store manages.",
        discussion: """
            The sandbox sells a product from Ready to Submit on, production once it is Approved. Review is automatic unless \
            “cornerstore app set --review manual” says otherwise.

              cornerstore app register com.example.monkeys
              cornerstore product create consumable com.example.monkeys.credits5 --price 0.99 \\
                  --name "en_US=5 credits" --description "en_US=Feeds five monkeys."
              cornerstore product submit com.example.monkeys.credits5
              cornerstore product list
            """,
        subcommands: [
            List.self, Show.self, Create.self, Set.self, Offer.self, Submit.self, Review.self, Approve.self,
            Reject.self,
            Remove.self, Restore.self, Delete.self, History.self,
        ], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the products with their states, and whether they are on sale.",
            discussion: """
                  cornerstore product list --app com.example.monkeys
                """)
        @OptionGroup var target: ManagedTarget
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let client = try control.client()
            let products: [ControlAPI.ManagedProduct] = try await client.send(
                .managed(.products(try await target.bundleID(client))))
            try Console.current.report(products, json: output.json) { ManagedText.table(products, $0) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a product with the versions of its texts, and its next requirements.",
            discussion: """
                  cornerstore product show com.example.monkeys.credits5
                  cornerstore product show com.example.monkeys.credits5 --json
                """)
        @Argument(help: "The product's identifier.")
        var product: String
        @OptionGroup var target: ManagedTarget
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let product = try await target.product(product, try control.client())
            try Console.current.report(product, json: output.json) { ManagedText.text(product, $0) }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a product. Its type and identifier never change.",
            discussion: """
                No other product of the app can ever have the identifier, also after this one was deleted.

                  cornerstore product create nonConsumable com.example.monkeys.jungle --price 4.99 --hosted on
                  cornerstore product create autoRenewableSubscription com.example.monkeys.pro --group 21000001 --period P1M --price 3.99
                """)
        enum Kind: String, ExpressibleByArgument, CaseIterable {
            case consumable
            case nonConsumable
            case nonRenewingSubscription
            case autoRenewableSubscription
            case freeSubscription
        }

        @Argument(help: "The type.")
        var kind: Kind
        @Argument(help: "The product's identifier.")
        var product: String
        @Option(help: ArgumentHelp("The subscription's group.", valueName: "group-id"))
        var group: String?
        @OptionGroup var keys: ProductKeys
        @OptionGroup var target: ManagedTarget
        @OptionGroup var options: ManagedOptions

        func run() async throws {
            let client = try options.control.client()
            let new = ControlAPI.NewManagedProduct(
                kind: kind.rawValue, productId: product, groupId: group,
                document: .object(try keys.members(changing: nil)), by: options.author)
            try options.report(
                try await client.send(.managed(.createProduct(try await target.bundleID(client))), new)
                    as ControlAPI.ManagedProduct)
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a product. Settings that are not given keep their values.",
            discussion: """
                A change of approved texts begins a new version, which goes through review while the old one stays on sale.

                  cornerstore product set com.example.monkeys.credits5 --price 1.29
                  cornerstore product set com.example.monkeys.credits5 --name "de=5 Credits" --description "de=Füttert fünf Affen."
                  cornerstore product set com.example.monkeys.pro --document offers.json
                """)
        @Argument(help: "The product's identifier.")
        var product: String
        @OptionGroup var keys: ProductKeys
        @Option(parsing: .unconditional, help: "The product's revision. The default is the newest.")
        var revision: Int64?
        @OptionGroup var target: ManagedTarget
        @OptionGroup var options: ManagedOptions

        func run() async throws {
            let client = try options.control.client()
            let known = try await target.product(product, client)
            let members = try keys.members(changing: known.document)
            guard !members.isEmpty else {
                throw CommandError(.usage, "Nothing to change. Give an option such as --price or --name.")
            }
            let change = ControlAPI.ManagedProductChange(
                revision: revision ?? known.revision, changes: .object(members), by: options.author)
            try options.report(
                try await client.send(.managed(.changeProduct(known.bundleId, known.productId)), change)
                    as ControlAPI.ManagedProduct)
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a product permanently. Its identifier can never be used again.",
            discussion: """
                Customers keep what they bought.

                  cornerstore product delete com.example.monkeys.credits5
                """)
        @Argument(help: "The product's identifier.")
        var product: String
        @OptionGroup var target: ManagedTarget
        @OptionGroup var options: ManagedOptions

        /// The JSON document that `--json` prints.
        private struct Deleted: Encodable {
            var bundleId: String
            var productId: String
        }

        func run() async throws {
            let client = try options.control.client()
            let known = try await target.product(product, client)
            try await client.perform(
                .managed(
                    .deleteProduct(known.bundleId, known.productId, revision: known.revision, by: options.author)))
            let deleted = Deleted(bundleId: known.bundleId, productId: known.productId)
            try Console.current.report(deleted, json: options.output.json) { $0.good("Deleted.") }
        }
    }

    struct History: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the changes with their times and authors, newest first.",
            discussion: """
                The JSON document also has the state or the document before and after each change.

                  cornerstore product history
                  cornerstore product history com.example.monkeys.credits5 --limit 10 --json
                """)
        @Argument(help: "The product's identifier. The default is all changes of the app.")
        var product: String?
        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("Continue after this “number”, for the next page.", valueName: "number"))
        var before: Int64?
        @Option(parsing: .unconditional, help: "The maximum number of changes, 1 to 200.")
        var limit = 50
        @OptionGroup var target: ManagedTarget
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { try checkLimit(limit, upTo: 200) }

        func run() async throws {
            let client = try control.client()
            let changes: [ControlAPI.ManagedChange] = try await client.send(
                .managed(
                    .history(
                        try await target.bundleID(client), product: product, before: before, limit: limit)))
            try Console.current.report(changes, json: output.json) { style in
                guard !changes.isEmpty else { return "No changes." }
                let rows = changes.map { change in
                    [
                        "\(change.number)", String(change.date.prefix(19)), change.by, change.productId ?? "",
                        change.action, Self.effect(change),
                    ]
                }
                return Table(heading: ["change", "date", "by", "product", "action", "effect"], rows: rows).text(style)
            }
        }

        /// The states, or the remark. Documents are only in the JSON document.
        private static func effect(_ change: ControlAPI.ManagedChange) -> String {
            let states = [change.before, change.after].compactMap { $0 }.filter { !$0.contains("\n") }
            let words = states.map(ManagedText.state).joined(separator: " → ")
            return [words, change.note ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
        }
    }
}
