import ArgumentParser
import CornerstoreEncoding
import Foundation
import StoreServer
import StoreWire

/// `cornerstore buy`: a device from the shell.
struct BuyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "buy",
        abstract: "Buy a product from a running store, as an app on a device would.",
        discussion: """
            This command uses the same StoreKit as an app: it buys the product without asking and finishes the transaction. In the sandbox, \
            the default account is the tester that the store created on its first start. In production, --account is required.

              cornerstore buy com.example.app.coins
              cornerstore buy com.example.app.coins --quantity 3 --receipt-out coins.receipt
              cornerstore buy com.example.app.pro --environment production --account anna@example.com --password-file anna.txt
              cornerstore buy com.example.app.coins --json | jq -r .transactionId
              cornerstore buy --item 1400000003
              cornerstore buy com.example.app.coins --username 6f1c0c8e-2b8e-4c39-9d1b-0d2f6a5b8c11
              cornerstore buy com.example.club.monthly --offer come-back --offer-jws offer.jws

            The receipt is copied before the transaction is finished, because finished consumables are removed from it. The command also \
            finishes the unfinished transactions of earlier purchases on this device. Each account has its own device in the data \
            directory, unless --device names another.

            With --item, the command downloads the item's file into the library of the device. To resume an interrupted download, use \
            “cornerstore library download”.
            """)

    @Argument(help: "The product's identifier.")
    var product: String?
    @Option(
        help: ArgumentHelp(
            "The number of an item of the storefront to buy instead, such as a song. “cornerstore item find” finds numbers.",
            valueName: "number"))
    var item: Int64?
    @Flag(inversion: .prefixedNo, help: "Download the file of an item into the device's library.")
    var download = true
    @Option(
        help: ArgumentHelp("The app's bundle id. Required when several apps sell the product.", valueName: "bundle-id"))
    var app: String?
    @Option(parsing: .unconditional, help: "The quantity, 1 to 10.")
    var quantity = 1
    @Option(help: ArgumentHelp("The account that buys.", valueName: "email"))
    var account: String?
    @Option(
        help: ArgumentHelp(
            "The payment's applicationUsername, such as the merchant's accountToken for the user (a UUID).",
            valueName: "text"))
    var username: String?
    @Option(
        help: ArgumentHelp("The promotional offer to buy with, signed in --offer-jws.", valueName: "offer-id"))
    var offer: String?
    @Option(
        help: ArgumentHelp(
            "The file with the offer's JWS, from “cornerstore key sign-offer”; - for standard input.",
            valueName: "file"), completion: .file())
    var offerJWS: String?
    @OptionGroup var password: PasswordOptions
    @Option(help: ArgumentHelp("The file to write the app receipt to.", valueName: "file"), completion: .file())
    var receiptOut: String?
    @Option(help: ArgumentHelp("The device's folder.", valueName: "dir"), completion: .directory)
    var device: String?
    @Option(help: ArgumentHelp("The CFBundleVersion to put into the receipt.", valueName: "version"))
    var appVersion = "1"
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...10).contains(quantity) else { throw ValidationError("--quantity must be a number from 1 to 10.") }
        guard (product?.isEmpty == false) != (item != nil) else {
            throw ValidationError("Give the product's identifier, or an item's number with --item.")
        }
        guard item == nil || (quantity == 1 && username == nil && receiptOut == nil && app == nil) else {
            throw ValidationError(
                "--item needs no --app, --quantity, --username or --receipt-out. An item has no receipt.")
        }
        guard (offer == nil) == (offerJWS == nil), offer?.isEmpty != true else {
            throw ValidationError("Give both --offer and --offer-jws, or neither.")
        }
        guard item == nil || offer == nil else { throw ValidationError("An item has no offers.") }
        guard offerJWS != "-" || password.passwordFile != "-" else {
            throw ValidationError("Only one of --offer-jws and --password-file can be standard input.")
        }
        guard username?.isEmpty != true else { throw ValidationError("--username must not be empty.") }
    }

    func run() async throws {
        if let item { return try await buy(item: item) }
        guard let product else { return }
        let signed = try signedOffer()
        let addresses = try data.addresses()
        let seller = try await AppSelection.bundleID(of: product, app: app, data.client())
        // Check the output file before the purchase is charged.
        let receiptOut = receiptOut.map { URL(fileURLWithPath: $0).standardizedFileURL }
        if let receiptOut { try OutputFile.check(receiptOut) }
        let named = try device.map(DevicePlace.usable)
        let customer = try ShellCustomer.named(account, password, environment.environment, in: data.directory)
        let folder = named ?? Self.deviceFolder(of: customer.email, in: data.directory)
        let device = ShellDevice(
            store: addresses.store(environment.environment), environment: environment.environment, bundleID: seller,
            bundleVersion: appVersion, folder: folder.standardizedFileURL,
            root: data.directory.appendingPathComponent("roots/receipt-root.der"))
        let purchase = ShellPurchase(
            device: device, customer: customer, productID: product, quantity: quantity, username: username,
            offer: signed, receiptOut: receiptOut)
        let report = try await Progress.during("Buying \(product)", saysSoInLogs: true) { try await purchase.perform() }
        try Console.current.report(report, json: output.json) { report.text($0) }
    }

    /// Reads the offer's JWS; nil without an offer.
    private func signedOffer() throws -> OfferJWS? {
        guard let offer, let offerJWS else { return nil }
        // A file of text ends with a line break, perhaps of two characters.
        let bytes = try BoundedInput.read(offerJWS, limit: StoreLimits.offerJWS + 2, what: "JWS")
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw CommandError(.failed, "The JWS in \(offerJWS) is empty.") }
        return OfferJWS(offerID: offer, compactJWS: text)
    }

    private func buy(item: Int64) async throws {
        let (report, name) = try await ShellLibrary.with(
            account, password, environment.environment, device: device, data
        ) { library in
            var bought = try await library.buy(item)
            // A song of an owned album is owned by the album's purchase.
            if bought.item != item { bought.files = bought.files?.filter { $0.item == item } }
            let name = bought.item == item ? bought.name : bought.files?.first?.title
            let printed = Style.printable(name ?? "item \(item)")
            if download {
                do { _ = try await library.download(bought.files ?? []) } catch let error as CommandError {
                    throw CommandError(
                        .failed, "Bought \(printed), transaction \(bought.transactionID). \(error.detail)")
                }
            }
            return (LibraryItemReport(bought, library), printed)
        }
        try Console.current.report(report, json: output.json) { style in
            let bought = report.owned
            let heading =
                style.good("Bought \(name)") + "  \(bought.price.decimal) \(bought.price.currency)  "
                + style.dim("transaction \(bought.transactionID)")
            return ([heading] + (download ? report.files.map { $0.text(style) } : [])).joined(separator: "\n")
        }
    }

    /// Returns the folder of the account's device in the store's data directory.
    static func deviceFolder(of email: String, in data: URL) -> URL {
        data.appendingPathComponent("devices/\(folderName(email))")
    }

    /// Returns the e-mail address as a folder name: lower case, at most 100 bytes, other characters percent-encoded.
    static func folderName(_ email: String) -> String {
        email.lowercased().utf8.prefix(100).percentEncodedFileName(keeping: .fileName.adding("@"), .lower)
    }
}
