import Foundation

/// Edits of the lists in a catalog document, which a change replaces as a whole.
extension ControlAPI {
    /// The names and descriptions of a product or group, by language (`localizations`).
    public struct DocumentTexts: Sendable, Equatable {
        private var texts: [[String: CatalogValue]] = []

        /// Takes the localizations of a document; nil for none.
        public init(_ value: CatalogValue?) { texts = members(of: value) }

        /// The texts in their order.
        public var all: [CatalogText] {
            texts.map { text in
                CatalogText(
                    locale: text["locale"]?.text ?? "", displayName: text["displayName"]?.text ?? "",
                    description: text["description"]?.text)
            }
        }

        /// Sets a key of a language, and adds the language if it is new.
        public mutating func set(_ key: String, _ text: String, in locale: String) {
            let index = texts.firstIndex { $0["locale"]?.text == locale } ?? texts.count
            if index == texts.count { texts.append(["locale": .string(locale), "displayName": .string("")]) }
            texts[index][key] = .string(text)
        }

        /// Removes a language.
        /// - Returns: whether it was there.
        public mutating func remove(_ locale: String) -> Bool {
            let count = texts.count
            texts.removeAll { $0["locale"]?.text == locale }
            return texts.count < count
        }

        /// The localizations for a document.
        public var value: CatalogValue { .array(texts.map { .object($0) }) }
    }

    /// The introductory or the promotional offers of a subscription.
    public struct DocumentOffers: Sendable, Equatable {
        /// A kind of offer.
        public enum Kind: String, Sendable, CaseIterable {
            /// The offer for new subscribers. The store sells the first one of a document.
            case introductory
            /// An offer that the app's server signs for a subscriber.
            case promotional

            /// The key in a document.
            public var key: String { self == .introductory ? "introductoryOffers" : "adHocOffers" }
        }

        /// An offer.
        public struct Offer: Sendable, Equatable {
            /// The identifier; nil for an introductory offer.
            public var id: String?
            /// The developer's name for the offer.
            public var referenceName: String?
            /// `free`, `payAsYouGo` or `payUpFront`.
            public var paymentMode: String
            /// The length of one period, such as `P1W`.
            public var period: String
            /// The number of periods; nil for one.
            public var numberOfPeriods: Int?
            /// The price of a period; nil for a free offer.
            public var price: String?

            /// Creates an offer.
            public init(
                id: String?, referenceName: String?, paymentMode: String, period: String, numberOfPeriods: Int?,
                price: String?
            ) {
                self.id = id
                self.referenceName = referenceName
                self.paymentMode = paymentMode
                self.period = period
                self.numberOfPeriods = numberOfPeriods
                self.price = price
            }
        }

        /// The kind of the offers.
        public let kind: Kind
        private var offers: [[String: CatalogValue]] = []

        /// Takes the offers of a product's document.
        public init(_ kind: Kind, of document: CatalogValue?) {
            self.kind = kind
            offers = members(of: document?[kind.key])
        }

        /// The offers in their order.
        public var all: [Offer] {
            offers.map { offer in
                Offer(
                    id: offer["offerID"]?.text, referenceName: offer["referenceName"]?.text,
                    paymentMode: offer["paymentMode"]?.text ?? "", period: offer["subscriptionPeriod"]?.text ?? "",
                    numberOfPeriods: offer["numberOfPeriods"]?.plain.flatMap { Int($0) },
                    price: offer["displayPrice"]?.plain)
            }
        }

        /// Adds an offer, or changes the one with the same identifier, or the introductory one. Properties that an
        /// ``Offer`` lacks stay.
        public mutating func set(_ offer: Offer) {
            let index = place(of: offer.id) ?? offers.count
            if index == offers.count { offers.append([:]) }
            var members = offers[index]
            members["offerID"] = offer.id.map { .string($0) }
            members["referenceName"] = offer.referenceName.map { .string($0) }
            members["paymentMode"] = .string(offer.paymentMode)
            members["subscriptionPeriod"] = .string(offer.period)
            members["numberOfPeriods"] = offer.numberOfPeriods.map { .number(Decimal($0)) }
            members["displayPrice"] = offer.price.map { .string($0) }
            if offer.price == nil { for key in ["prices", "pricesByCurrency"] { members[key] = nil } }
            offers[index] = members
        }

        /// Removes the offer with an identifier; nil for the introductory one.
        /// - Returns: whether it was there.
        public mutating func remove(_ id: String?) -> Bool {
            guard let index = place(of: id) else { return false }
            offers.remove(at: index)
            return true
        }

        private func place(of id: String?) -> Int? {
            kind == .introductory ? offers.indices.first : offers.firstIndex { $0["offerID"]?.text == id }
        }

        /// The offers for a change of the document. Without offers, the change removes the key.
        public var value: CatalogValue { offers.isEmpty ? .null : .array(offers.map { .object($0) }) }
    }
}

/// The objects of a list; none when the value is no list.
private func members(of value: ControlAPI.CatalogValue?) -> [[String: ControlAPI.CatalogValue]] {
    guard case .array(let elements)? = value else { return [] }
    return elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
}

extension ControlAPI.CatalogValue {
    /// The text or the number as text; nil for other values.
    fileprivate var plain: String? {
        switch self {
        case .string(let text): text
        case .number(let number): "\(number)"
        default: nil
        }
    }
}
