/// What a run, or several, came to.
public struct KillTotals: Sendable, Equatable {
    /// Kills of the app at a named point.
    public var named = 0
    /// Kills of the app at random moments.
    public var random = 0
    /// Kills of the store.
    public var store = 0
    /// Kills of the merchant.
    public var merchant = 0
    /// Purchases that the ledgers hold.
    public var purchases = 0
    /// Restores that ended well.
    public var restores = 0
    /// Redemptions at the merchant, and spends.
    public var redemptions = 0
    /// Spends at the merchant.
    public var spends = 0
    /// Webhooks that came more than once.
    public var repeatedWebhooks = 0
    /// What was paid and not delivered, one sentence each.
    public var lost: [String] = []
    /// What was bought or delivered twice, one sentence each.
    public var doubled: [String] = []
    /// Anything else that is wrong, one sentence each.
    public var wrong: [String] = []
    /// The points at which the app was killed.
    public var points: Set<String> = []
    /// The steps at which the merchant was killed.
    public var merchantPoints: Set<String> = []

    /// Creates totals of zero.
    public init() {}

    /// All kills.
    public var kills: Int { named + random + store + merchant }

    /// Whether nothing was lost, doubled or otherwise wrong.
    public var isGood: Bool { lost.isEmpty && doubled.isEmpty && wrong.isEmpty }

    /// `kills N purchases N lost N doubled N`.
    public var line: String {
        "kills \(kills) purchases \(purchases) lost \(lost.count) doubled \(doubled.count)"
    }

    /// The kills by their kind.
    public var detail: String {
        "\(named) of the app at \(points.count) named points, \(random) at random moments, \(store) of the store; \(restores) restores"
            + (merchant > 0 ? "; \(merchantDetail)" : "")
    }

    /// Those of the merchant.
    public var merchantDetail: String {
        "\(merchant) of the merchant, at \(merchantPoints.count) named points and at random; \(redemptions) redemptions, \(spends) spends, "
            + "\(repeatedWebhooks) webhooks repeated"
    }

    /// Adds another run's totals.
    public mutating func add(_ other: KillTotals) {
        named += other.named
        random += other.random
        store += other.store
        merchant += other.merchant
        redemptions += other.redemptions
        spends += other.spends
        repeatedWebhooks += other.repeatedWebhooks
        merchantPoints.formUnion(other.merchantPoints)
        purchases += other.purchases
        restores += other.restores
        lost += other.lost
        doubled += other.doubled
        wrong += other.wrong
        points.formUnion(other.points)
    }

    mutating func add(_ verdict: MerchantVerdict, repeated: Int) {
        redemptions += verdict.redemptions
        spends += verdict.spends
        repeatedWebhooks += repeated
        lost += verdict.lost
        doubled += verdict.doubled
        wrong += verdict.wrong
    }

    mutating func add(_ verdict: Verdict, of device: String) {
        purchases += verdict.purchases
        restores += verdict.restores
        lost += verdict.lost.map { "\(device): \($0)" }
        doubled += verdict.doubled.map { "\(device): \($0)" }
        wrong += verdict.wrong.map { "\(device): \($0)" }
    }
}
