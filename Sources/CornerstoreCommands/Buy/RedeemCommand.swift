import ArgumentParser
import StoreServer
import StoreWire

/// `cornerstore redeem`: redeems a code as a customer.
struct RedeemCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redeem",
        abstract: "Redeem a code as a customer, as in the App Store.",
        discussion: """
            The code gives a product (“cornerstore code”) or an offer of a subscription (“cornerstore offer-code”). The app finishes the \
            transaction when it runs the next time. For a customer who subscribes already, an offer begins with the next renewal, and the \
            answer is the transaction of the current period.

              cornerstore redeem SPRING26
              cornerstore redeem 7K2M9Q4RX8T1V5WZ3N --account anna@example.com --password-file anna.txt --json
            """)

    @Argument(help: "The code. Letter case, blanks and hyphens do not matter.")
    var code: String
    @Option(
        help: ArgumentHelp("The app's bundle id. Required when the store has several apps.", valueName: "bundle-id"))
    var app: String?
    @Option(help: ArgumentHelp("The account.", valueName: "email"))
    var account: String?
    @OptionGroup var password: PasswordOptions
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let bundleID = try await AppSelection.only(app, data.client())
        let base = try data.addresses().store(environment.environment)
        let customer = try ShellCustomer.named(account, password, environment.environment, in: data.directory)
        let redeemed: TransactionDescription = try await ShellSession.with(customer, at: base) { session in
            try await session.send(
                .redemptions, CodeRedemptionRequest(bundleID: BundleID(bundleID), code: code))
        }
        try Console.current.report(redeemed, json: output.json) { style in
            let until = redeemed.expiresDate.map { "  until \(Moment.text($0))" } ?? ""
            return style.good("Redeemed \(Style.printable(redeemed.productID.rawValue))") + until + "  "
                + style.dim("transaction \(redeemed.transactionID)")
        }
    }
}
