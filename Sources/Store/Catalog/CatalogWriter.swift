import StoreWire

/// Writes the parts that both file formats share as JSON. Our own format omits default values.
struct CatalogWriter {
    let dialect: CatalogDialect

    private var isCornerstore: Bool { dialect == .cornerstore }

    /// An object with its members and the unknown keys, which are beside the members in Xcode's format and under
    /// `xcode` in ours.
    func object(_ members: [String: JSONValue?], _ unknown: [String: JSONValue]) -> JSONValue {
        var object = members.compactMapValues { $0 }
        if isCornerstore {
            object["xcode"] = unknown.isEmpty ? nil : .object(unknown)
        } else {
            object.merge(unknown) { known, _ in known }
        }
        return .object(object)
    }

    func string(_ text: String?) -> JSONValue? { text.map { .string($0) } }

    func decimal(_ amount: Int64?) -> JSONValue? {
        amount.map { .string(Money(milliunits: $0, currency: "USD").decimal) }
    }

    /// A list; nil for an empty list in our own format.
    func list(_ elements: [JSONValue]) -> JSONValue? { elements.isEmpty && isCornerstore ? nil : .array(elements) }

    func localizations(_ localizations: [CatalogLocalization]) -> JSONValue? {
        list(
            localizations.map {
                object(
                    [
                        "locale": .string($0.locale), "displayName": .string($0.displayName),
                        "description": string($0.description),
                    ],
                    $0.unknown
                )
            }
        )
    }

    /// The members that contain prices.
    func prices(_ prices: CatalogPrices?) -> [String: JSONValue?] {
        guard let prices else { return [:] }
        var members: [String: JSONValue?] = ["displayPrice": decimal(prices.amount)]
        guard isCornerstore else { return members }
        members["prices"] = amounts(prices.byStorefront)
        members["pricesByCurrency"] = amounts(prices.byCurrency)
        return members
    }

    private func amounts(_ amounts: [String: Int64]) -> JSONValue? {
        amounts.isEmpty ? nil : .object(amounts.compactMapValues { decimal($0) })
    }

    func offer(_ offer: CatalogOffer, internalID: String?) -> JSONValue {
        var members: [String: JSONValue?] = [
            "offerID": string(offer.offerID), "referenceName": string(offer.referenceName),
            "internalID": string(internalID),
            "paymentMode": .string(offer.paymentMode.rawValue), "subscriptionPeriod": .string(offer.period.description),
            "numberOfPeriods": offer.numberOfPeriods.map { .number(String($0)) },
            "eligibility": offer.eligibility.map { .array($0.map { .string($0) }) },
            "isStackable": offer.isStackable.map { .bool($0) },
            "autoRenewEnabled": offer.renews.map { .bool($0) }, "billingPlanType": string(offer.billingPlanType),
        ]
        members.merge(prices(offer.prices)) { $1 }
        if dialect == .cornerstore, let criteria = offer.winBack { members["customers"] = customers(criteria) }
        return object(members, offer.unknown)
    }

    private func customers(_ criteria: WinBackCriteria) -> JSONValue {
        let months = [
            "paidMonths": criteria.paidMonths, "lapsedMonths": criteria.lapsedMonths,
            "mostLapsedMonths": criteria.mostLapsedMonths, "waitMonths": criteria.waitMonths,
        ]
        var members = months.compactMapValues { $0.map { JSONValue.number(String($0)) } }
        if criteria.isPreferred { members["isPreferred"] = .bool(true) }
        return .object(members)
    }

    func billingPlan(_ plan: CatalogBillingPlan) -> JSONValue {
        object(
            [
                "billingPlanType": .string(plan.type), "displayPrice": decimal(plan.amount),
                "commitmentDisplayPrice": decimal(plan.commitmentAmount), "internalID": string(plan.internalID),
                "isEnabled": plan.isEnabled.map { .bool($0) },
            ],
            plan.unknown
        )
    }
}
