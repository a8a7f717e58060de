import ArgumentParser
import ControlWire
import StoreWire

extension ProductCommand {
    /// `cornerstore product offer`: adds, changes or removes an offer of a subscription.
    struct Offer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add, change or remove an introductory or promotional offer of a subscription.",
            discussion: """
                An offer takes effect at once, as a price does.

                  cornerstore product offer com.example.monkeys.pro --introductory --payment free --period P1W
                  cornerstore product offer com.example.monkeys.pro --id come-back --payment payAsYouGo --price 1.99 --period P1M --periods 3
                  cornerstore product offer com.example.monkeys.pro --id come-back --remove
                """)

        enum Payment: String, ExpressibleByArgument, CaseIterable {
            case free
            case payAsYouGo
            case payUpFront
        }

        @Argument(help: "The subscription's identifier.")
        var product: String
        @Flag(help: "The introductory offer, for new subscribers.")
        var introductory = false
        @Option(help: ArgumentHelp("The identifier of a promotional offer.", valueName: "offer-id"))
        var id: String?
        @Option(help: "How customers pay.")
        var payment: Payment?
        @Option(help: "The length of one period, such as P1W.")
        var period: String?
        @Option(parsing: .unconditional, help: "The number of periods.")
        var periods: Int?
        @Option(help: "The price of a period, such as 1.99.")
        var price: String?
        @Option(help: "The developer's name for the offer.")
        var referenceName: String?
        @Flag(help: "Remove the offer.")
        var remove = false
        @Option(parsing: .unconditional, help: "The product's revision. The default is the newest.")
        var revision: Int64?
        @OptionGroup var target: ManagedTarget
        @OptionGroup var options: ManagedOptions

        func validate() throws {
            guard introductory != (id != nil) else { throw ValidationError("Give either --introductory or --id.") }
            guard remove || (payment != nil && period != nil) else {
                throw ValidationError("Give --payment and --period, or --remove.")
            }
            guard payment == nil || (payment == .free) == (price == nil) else {
                throw ValidationError("An offer has a --price unless it is free.")
            }
        }

        func run() async throws {
            let client = try options.control.client()
            let known = try await target.product(product, client)
            var offers = ControlAPI.DocumentOffers(introductory ? .introductory : .promotional, of: known.document)
            if let payment, let period, !remove {
                offers.set(
                    ControlAPI.DocumentOffers.Offer(
                        id: id, referenceName: referenceName, paymentMode: payment.rawValue, period: period,
                        numberOfPeriods: periods, price: price))
            } else if !offers.remove(id) {
                throw CommandError(.refused, "The product has no such offer.")
            }
            let change = ControlAPI.ManagedProductChange(
                revision: revision ?? known.revision, changes: .object([offers.kind.key: offers.value]),
                by: options.author)
            try options.report(
                try await client.send(.managed(.changeProduct(known.bundleId, known.productId)), change)
                    as ControlAPI.ManagedProduct)
        }
    }
}
