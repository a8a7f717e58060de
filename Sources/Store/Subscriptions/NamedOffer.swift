import StoreWire

/// An offer of a subscription that customers ask for by its name. Introductory offers have no names.
public struct NamedOffer: Sendable, Hashable {
    /// The kind of an offer. The raw values are those of the database.
    public enum Kind: String, Sendable, CaseIterable {
        /// The app's server chooses the customers.
        case promotional
        /// The customer redeems a code.
        case code
        /// For customers who no longer subscribe.
        case winBack
    }

    /// The kind.
    public var kind: Kind
    /// The offer's identifier; for an offer with codes, its reference name (`offer_code_ref_name`).
    public var id: String

    /// Creates the name of an offer.
    public init(_ kind: Kind, _ id: String) { (self.kind, self.id) = (kind, id) }

    /// Whether both name the same offer. Identifiers are compared byte by byte.
    public static func == (left: NamedOffer, right: NamedOffer) -> Bool {
        left.kind == right.kind && left.id.hasSameBytes(as: right.id)
    }

    /// Hashes the bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        for byte in id.utf8 { hasher.combine(byte) }
    }
}

/// Two columns hold an offer: its identifier, and its kind. Tables of older versions had promotional offers only, so
/// that kind is null.
extension NamedOffer {
    init?(id: String?, kind: String?) {
        guard let id, let kind = kind.map({ Kind(rawValue: $0) }) ?? .promotional else { return nil }
        self.init(kind, id)
    }

    /// The value of the column of kinds.
    var kindColumn: String? { kind == .promotional ? nil : kind.rawValue }
}

/// How an offer is paid, and how long it lasts.
public struct OfferTerms: Sendable, Equatable {
    /// How the offer is paid.
    public var paymentMode: OfferDescription.PaymentMode
    /// The length of all its periods together; nil in rows of older versions.
    public var period: SubscriptionPeriod?

    init(_ offer: OfferDescription) {
        paymentMode = offer.paymentMode
        period = SubscriptionPeriod(unit: offer.period.unit, count: offer.period.count * offer.numberOfPeriods)
    }

    init?(mode: String?, period: String?) {
        guard let mode = mode.flatMap(OfferDescription.PaymentMode.init(rawValue:)) else { return nil }
        paymentMode = mode
        self.period = period.flatMap { SubscriptionPeriod(iso8601: $0) }
    }
}

extension CatalogSubscription {
    /// The offer with this name; nil when the product has none. Of several with the same name, the first.
    func offer(_ named: NamedOffer) -> CatalogOffer? {
        switch named.kind {
        case .promotional: promotionalOffers.first { $0.offerID?.hasSameBytes(as: named.id) ?? false }
        case .code: codeOffers.first { $0.codeName?.hasSameBytes(as: named.id) ?? false }
        case .winBack: winBackOffers.first { $0.offerID?.hasSameBytes(as: named.id) ?? false }
        }
    }
}

extension Transaction {
    /// The identifier of the promotional offer that set the price; nil for none.
    public var promotionalOfferID: String? { namedOffer.flatMap { $0.kind == .promotional ? $0.id : nil } }

    /// The reference name of the offer whose code set the price; nil for none.
    public var offerCodeName: String? { namedOffer.flatMap { $0.kind == .code ? $0.id : nil } }

    /// The identifier of the win-back offer that set the price; nil for none.
    public var winBackOfferID: String? { namedOffer.flatMap { $0.kind == .winBack ? $0.id : nil } }
}
