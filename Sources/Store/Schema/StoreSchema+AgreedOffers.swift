import Database

extension StoreSchema {
    /// The terms of offers that a customer accepted and that begin later: with the next renewal of a subscription, or
    /// with a purchase that waits; for the latter, also the usual price that follows.
    ///
    /// Rows of older versions have no terms. Their offers begin with the terms of the catalog on that day.
    static let agreedOffers = Migration(
        28, "agreed offers",
        [
            "ALTER TABLE subscriptions ADD COLUMN next_offer_mode TEXT",
            "ALTER TABLE subscriptions ADD COLUMN next_offer_price BIGINT",
            "ALTER TABLE subscriptions ADD COLUMN next_offer_currency TEXT",
            // The length of one period, in ISO 8601, and the number of periods.
            "ALTER TABLE subscriptions ADD COLUMN next_offer_period TEXT",
            "ALTER TABLE subscriptions ADD COLUMN next_offer_periods BIGINT",
            "ALTER TABLE subscriptions ADD COLUMN next_offer_stacks BOOLEAN",
            "ALTER TABLE subscriptions ADD COLUMN next_offer_ends BOOLEAN",
            "ALTER TABLE waiting_subscriptions ADD COLUMN offer_id TEXT",
            "ALTER TABLE waiting_subscriptions ADD COLUMN offer_kind TEXT",
            "ALTER TABLE waiting_subscriptions ADD COLUMN offer_mode TEXT",
            // The length of all periods together, in ISO 8601, and the number of those after the first.
            "ALTER TABLE waiting_subscriptions ADD COLUMN offer_period TEXT",
            "ALTER TABLE waiting_subscriptions ADD COLUMN offer_periods_left BIGINT",
            // Null marks a row of an older version.
            "ALTER TABLE waiting_subscriptions ADD COLUMN offer_ends BOOLEAN",
            // The price of a period without offers, in thousandths of the unit of the purchase's currency.
            "ALTER TABLE waiting_subscriptions ADD COLUMN usual_price BIGINT",
        ])
}
