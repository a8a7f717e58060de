import Crypto
import Database
import Foundation
import StoreWire

extension Store {
    /// How long an offer's signature is valid, in milliseconds (Apple: 24 hours). Apple documents no time for a JWS.
    static let offerLifetime: Int64 = 86_400_000

    /// Finds and checks the offer of a request; nil when the request names none.
    /// - Parameters:
    ///   - named: the offer of a code, or of a purchase that waited.
    ///   - kept: the terms of `named` in case that the catalog no longer has it; nil when they are unknown.
    func promotion(
        _ request: PurchaseRequest, of product: CatalogProduct, app: CatalogApp, account: Account,
        named: NamedOffer?, kept: CatalogOffer?
    ) async throws -> Result<ChosenOffer?, WireError> {
        guard let wanted = request.namedOffer ?? named else { return .success(nil) }
        func refuse(_ code: WireError.Code, _ message: String) -> Result<ChosenOffer?, WireError> {
            .failure(WireError(code: code, message: message))
        }
        if let signed = request.offer, !signed.isComplete {
            return refuse(.missingOfferParameters, "The offer lacks its identifier, key, signature or time.")
        }
        if let signed = request.offerJWS, !signed.isComplete {
            return refuse(.missingOfferParameters, "The offer lacks its identifier or JWS.")
        }
        guard let offer = product.subscription?.offer(wanted) ?? kept else {
            return refuse(.invalidOfferIdentifier, "The product has no \(wanted.kind.words) with this identifier.")
        }
        let chosen = ChosenOffer(name: wanted, offer: offer)
        let problem =
            if let signed = request.offer {
                signatureProblem(of: signed, request, app: app)
            } else if let signed = request.offerJWS {
                try await signatureProblem(of: signed, request, app: app, account: account)
            } else {
                nil as String?
            }
        if let problem { return refuse(.invalidOfferSignature, problem) }
        guard let nonce = request.offerNonce else { return .success(chosen) }
        let used = try await database.read { connection in
            try connection.queryOne(
                "SELECT idempotency_key FROM offer_nonces WHERE nonce = $1", [nonce.uuidString]
            )?.string(0)
        }
        guard used == nil || used == request.idempotencyKey.uuidString else {
            return refuse(.invalidOfferSignature, "The offer's signature was used before.")
        }
        return .success(chosen)
    }

    /// The problem with the signature of an offer; nil when it is valid.
    private func signatureProblem(of signed: SignedOffer, _ request: PurchaseRequest, app: CatalogApp) -> String? {
        guard isCurrent(signed.timestamp) else { return Self.expired }
        let message = signed.message(
            bundleID: request.bundleID, productID: request.productID, applicationUsername: request.applicationUsername)
        guard let key = app.subscriptionOfferKey, key.id.hasSameBytes(as: signed.keyID),
            let der = Data(base64Encoded: signed.signature),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: der),
            key.publicKey.isValidSignature(signature, for: Data(message.utf8))
        else { return "The offer's signature does not match this key and these values." }
        return nil
    }

    /// The problem with the JWS of an offer; nil when it is valid.
    private func signatureProblem(
        of signed: OfferJWS, _ request: PurchaseRequest, app: CatalogApp, account: Account
    ) async throws -> String? {
        guard let token = try? OfferToken(signed.compactJWS) else {
            return "The offer's signature is not a JWS of a promotional offer with ES256."
        }
        guard let key = try await key(of: token, app: app), token.isSigned(by: key),
            token.bundleID.hasSameBytes(as: request.bundleID.rawValue),
            token.productID.hasSameBytes(as: request.productID.rawValue),
            token.offerID.hasSameBytes(as: signed.offerID)
        else { return "The offer's signature does not match this key and these values." }
        guard isCurrent(token.issuedAt) else { return Self.expired }
        if let id = token.transactionID {
            let (accountID, bundleID) = (account.accountID, request.bundleID)
            let isOwn = try await database.read { connection in
                try Self.owner(of: id, in: bundleID, connection) == accountID
            }
            guard isOwn else { return "The offer was signed for another customer." }
        }
        return nil
    }

    private static let expired = "The offer was signed more than 24 hours ago."

    /// Whether an offer that was signed at a time, in milliseconds since 1970, is still valid.
    private func isCurrent(_ timestamp: Int64) -> Bool {
        // Accept the time by the store's clock or by real time, because the app's server may use either.
        [clock.milliseconds, clock.realMilliseconds].map { $0.subtractingReportingOverflow(timestamp) }
            .contains { !$0.overflow && $0.partialValue.magnitude <= UInt64(Self.offerLifetime) }
    }

    /// The public half of the key that signed an offer: the key pair of the app's offers, whose issuer the catalog
    /// does not name, or one of the app's keys of the App Store Server API. Nil when the app has no such key.
    /// - Throws: ``DatabaseError``.
    private func key(of token: OfferToken, app: CatalogApp) async throws -> P256.Signing.PublicKey? {
        if let key = app.subscriptionOfferKey, key.id.hasSameBytes(as: token.keyID) { return key.publicKey }
        guard let apiKeys else { return nil }
        let found = try await apiKeys.confirmed {
            guard let key = apiKeys[token.keyID], key.revokedAt == nil,
                key.bundleID.rawValue.hasSameBytes(as: app.bundleID.rawValue),
                key.issuerID.hasSameBytes(as: token.issuerID)
            else { return nil }
            return key
        }
        return found?.publicKey
    }

    /// The account that has a transaction in an app, by its identifier or that of the app transaction; nil for none.
    private static func owner(
        of id: String, in bundleID: BundleID, _ connection: Connection
    ) throws -> AccountID? {
        if let id = AppTransactionID(id) { return try AppCustomers.accountID(of: id, in: bundleID, connection) }
        guard let id = TransactionID(id),
            let found = try Transactions.find(id, connection) ?? RestoredTransactions.find(id, connection),
            found.bundleID == bundleID
        else { return nil }
        return found.accountID
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
    /// The nonce of the promotional offer's signature; nil without an offer, and for a malformed JWS.
    fileprivate var offerNonce: UUID? {
        offer?.nonce ?? offerJWS.flatMap { try? OfferToken($0.compactJWS) }?.nonce
    }

    /// Records that this purchase uses the offer's nonce.
    ///
    /// - Throws: ``OwnedMeanwhile`` when another purchase has used the nonce since it was checked; ``DatabaseError``.
    func useNonce(_ connection: Connection) throws {
        guard let nonce = offerNonce else { return }
        let inserted = try connection.execute(
            "INSERT INTO offer_nonces (nonce, idempotency_key) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING",
            [nonce.uuidString, idempotencyKey.uuidString])
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

extension OfferJWS {
    /// Whether both texts are within their length limits.
    var isBounded: Bool {
        offerID.utf8.count <= StoreLimits.identifier && compactJWS.utf8.count <= StoreLimits.offerJWS
    }

    /// Whether both texts are present.
    var isComplete: Bool { !offerID.isEmpty && !compactJWS.isEmpty }
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
