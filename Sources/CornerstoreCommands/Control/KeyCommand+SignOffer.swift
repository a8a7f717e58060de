import ArgumentParser
import ControlWire
import Foundation
import MerchantServer
import StoreWire

extension KeyCommand {
    /// `cornerstore key sign-offer`: what an app's server does for a customer who gets a promotional offer.
    struct SignOffer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sign a promotional offer as a JWS, as an app's server does for StoreKit 2.",
            discussion: """
                The JWS is valid for one purchase within 24 hours. With --transaction, only the customer of that transaction can use it.

                  cornerstore key sign-offer com.example.club.monthly --offer come-back --key 4J8Q2M9XKT --key-file club.p8
                  cornerstore key sign-offer com.example.club.monthly --offer come-back --key 4J8Q2M9XKT --key-file club.p8 | \\
                    cornerstore buy com.example.club.monthly --offer come-back --offer-jws -
                """)
        /// A .p8 file has about 250 bytes.
        private static let keyFileLimit = 16 << 10

        @Argument(help: "The subscription's product identifier.")
        var product: String
        @Option(help: ArgumentHelp("The identifier of the promotional offer.", valueName: "offer-id"))
        var offer: String
        @Option(help: ArgumentHelp("The identifier of the key that signs.", valueName: "key-id"))
        var key: String
        @Option(
            help: ArgumentHelp("The key's .p8 file from “cornerstore key make”.", valueName: "file"),
            completion: .file(extensions: ["p8"]))
        var keyFile: String
        @Option(
            help: ArgumentHelp(
                "A transaction of the customer, or the customer's app transaction. The default is any customer.",
                valueName: "id"))
        var transaction: String?
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        /// The output of `--json`.
        struct Report: Encodable {
            var productId: String
            var offerId: String
            var transactionId: String?
            var compactJWS: String
        }

        func validate() throws {
            guard !product.isEmpty, !offer.isEmpty, transaction?.isEmpty != true else {
                throw ValidationError("The product, --offer and --transaction must not be empty.")
            }
        }

        func run() async throws {
            let pem = String(
                decoding: try BoundedInput.read(keyFile, limit: Self.keyFileLimit, what: "key"), as: UTF8.self)
            let keys: [ControlAPI.APIKey] = try await control.client().send(.apiKeys)
            guard let known = keys.first(where: { $0.keyId == key }) else {
                throw CommandError(
                    .refused, "The store has no key \(Style.printable(key)). See “cornerstore key list”.")
            }
            guard known.revokedDate == nil else {
                throw CommandError(.refused, "The key \(Style.printable(key)) is revoked. Make a new one.")
            }
            let signer = try StoreAPIKey(
                bundleID: BundleID(known.bundleId), keyID: known.keyId, issuerID: known.issuerId, pem: pem)
            // An older store does not tell the public keys, so its devices refuse the offer instead.
            if let publicKey = known.publicKey, !signer.hasPublicKey(publicKey) {
                let owner = keys.first { $0.publicKey.map { signer.hasPublicKey($0) } ?? false }
                let contents =
                    owner.map { "It contains the key \(Style.printable($0.keyId)) of \(Style.printable($0.bundleId))." }
                    ?? "It contains a key that this store did not make."
                throw CommandError(
                    .refused,
                    "\(Style.printable(keyFile)) does not contain the key \(Style.printable(key)). \(contents) Give the .p8 file "
                        + "that “cornerstore key make” saved for \(Style.printable(key)).")
            }
            let jws = try signer.promotionalOffer(
                offer, of: ProductID(product), transactionID: transaction, at: Int64(Date().timeIntervalSince1970))
            let report = Report(productId: product, offerId: offer, transactionId: transaction, compactJWS: jws)
            try Console.current.report(report, json: output.json) { _ in jws }
        }
    }
}
