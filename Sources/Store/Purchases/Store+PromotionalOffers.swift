import Crypto
import Database
import Foundation
import StoreWire

extension Store {
    /// How long an offer's signature is valid, in milliseconds (Apple: 24 hours).
    static let offerLifetime: Int64 = 86_400_000

    /// Finds and checks the offer of a request; nil when the request names none.
    /// - Parameters:
    ///   - named: the offer of a code, or of a purchase that waited.
    ///   - kept: the terms of `named` in case that the catalog no longer has it; nil when they are unknown.
    func promotion(
        _ request: PurchaseRequest, of product: CatalogProduct, app: CatalogApp, named: NamedOffer?,
        kept: CatalogOffer?
    ) async throws -> Result<ChosenOffer?, WireError> {
        guard let wanted = request.namedOffer ?? named else { return .success(nil) }
        func refuse(_ code: WireError.Code, _ message: String) -> Result<ChosenOffer?, WireError> {
            .failure(WireError(code: code, message: message))
        }
        if let signed = request.offer, !signed.isComplete {
            return refuse(.missingOfferParameters, "The offer lacks its identifier, key, signature or time.")
        }
        guard let offer = product.subscription?.offer(wanted) ?? kept else {
            return refuse(.invalidOfferIdentifier, "The product has no \(wanted.kind.words) with this identifier.")
        }
        let chosen = ChosenOffer(name: wanted, offer: offer)
        guard let signed = request.offer else { return .success(chosen) }
        // Accept the time by the store's clock or by real time, because the app's server may use either.
        let ages = [clock.milliseconds, clock.realMilliseconds].map {
            $0.subtractingReportingOverflow(signed.timestamp)
        }
        guard ages.contains(where: { !$0.overflow && $0.partialValue.magnitude <= UInt64(Self.offerLifetime) }) else {
            return refuse(.invalidOfferSignature, "The offer was signed more than 24 hours ago.")
        }
        let message = signed.message(
            bundleID: request.bundleID, productID: request.productID, applicationUsername: request.applicationUsername)
        guard let key = app.subscriptionOfferKey, key.id.hasSameBytes(as: signed.keyID),
            let der = Data(base64Encoded: signed.signature),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: der),
            key.publicKey.isValidSignature(signature, for: Data(message.utf8))
        else {
            return refuse(.invalidOfferSignature, "The offer's signature does not match this key and these values.")
        }
        let used = try await database.read { connection in
            try connection.queryOne(
                "SELECT idempotency_key FROM offer_nonces WHERE nonce = $1", [signed.nonce.uuidString]
            )?.string(0)
        }
        guard used == nil || used == request.idempotencyKey.uuidString else {
            return refuse(.invalidOfferSignature, "The offer's signature was used before.")
        }
        return .success(chosen)
    }
}

/// An offer of the catalog that a purchase names.
struct ChosenOffer: Sendable {
    var name: NamedOffer
    var offer: CatalogOffer
    /// Whether the introductory offer comes first.
    var stacks: Bool { name.kind == .code && offer.isStackable == true }
}

extension NamedOffer.Kind {
    /// The kind in an error message.
    fileprivate var words: String {
        switch self {
        case .promotional: "promotional offer"
        case .code: "offer with codes"
        case .winBack: "win-back offer"
        }
    }
}

extension Store.Sale {
    /// Sets the price and first period of an offer. An offer that stacks waits until the introductory offer is over.
    mutating func apply(_ chosen: ChosenOffer, in storefront: Storefront) {
        guard introduction == nil else {
            subscription?.waitingOffer = WaitingOffer(chosen, in: storefront)
            return
        }
        let offer = chosen.offer.description(in: storefront)
        amount = offer.price
        period = offer.firstPeriod
        namedOffer = chosen.name
        offerTerms = OfferTerms(offer)
        remainingOffer = offer.afterFirstPeriod
        endsWithOffer = chosen.offer.endsSubscription
    }
}

extension OfferDescription {
    /// The time that the first payment covers: one period, or all of them when they are free or paid up front.
    var firstPeriod: SubscriptionPeriod {
        paymentMode == .payAsYouGo
            ? period : SubscriptionPeriod(unit: period.unit, count: period.count * numberOfPeriods)
    }

    /// The periods after the first payment, which are paid one by one; nil for none.
    var afterFirstPeriod: Subscription.RemainingOffer? {
        paymentMode == .payAsYouGo && numberOfPeriods > 1
            ? Subscription.RemainingOffer(periods: numberOfPeriods - 1, period: period) : nil
    }

    /// Whether a day of the offer costs more than a day of the subscription. A month counts 30 days and a year 365.
    func isDearer(than price: Money, for period: SubscriptionPeriod) -> Bool {
        let offered = self.price.milliunits.multipliedFullWidth(by: period.days)
        let usual = price.milliunits.multipliedFullWidth(by: firstPeriod.days)
        return (offered.high, offered.low) > (usual.high, usual.low)
    }
}

extension SubscriptionPeriod {
    fileprivate var days: Int64 {
        switch unit {
        case .day: Int64(count)
        case .week: Int64(count) * 7
        case .month: Int64(count) * 30
        case .year: Int64(count) * 365
        }
    }
}

extension PurchaseRequest {
    /// Records that this purchase uses the offer's nonce.
    ///
    /// - Throws: ``OwnedMeanwhile`` when another purchase has used the nonce since it was checked; ``DatabaseError``.
    func useNonce(_ connection: Connection) throws {
        guard let offer else { return }
        let inserted = try connection.execute(
            "INSERT INTO offer_nonces (nonce, idempotency_key) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING",
            [offer.nonce.uuidString, idempotencyKey.uuidString])
        if inserted == 0 { throw OwnedMeanwhile() }
    }
}

extension SignedOffer {
    /// Whether all texts are within their length limits.
    var isBounded: Bool {
        offerID.utf8.count <= StoreLimits.identifier && keyID.utf8.count <= StoreLimits.identifier
            && signature.utf8.count <= StoreLimits.offerSignature
    }

    /// Whether all signed values are present.
    var isComplete: Bool { !offerID.isEmpty && !keyID.isEmpty && !signature.isEmpty && timestamp > 0 }
}

extension CatalogApp {
    /// The key with which the app's server signs promotional offers, from `subscriptionOffersKeyPair` in the catalog
    /// file. Xcode writes an `id` and a `privateKey`, PKCS#8 in Base64. Nil when the key is missing or cannot be read.
    var subscriptionOfferKey: (id: String, publicKey: P256.Signing.PublicKey)? {
        guard case .object(let pair)? = unknown["subscriptionOffersKeyPair"], case .string(let id)? = pair["id"],
            case .string(let text)? = pair["privateKey"], let der = Data(base64Encoded: text),
            let key = try? P256.Signing.PrivateKey(derRepresentation: der)
        else { return nil }
        return (id, key.publicKey)
    }
}
