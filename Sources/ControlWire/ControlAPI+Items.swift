/// The storefront's items.
extension ControlAPI {
    /// The views of an item's page by a campaign's links on one day.
    public struct CampaignViews: Codable, Sendable, Equatable {
        /// The day in UTC, such as `2026-05-31`.
        public var day: String
        /// The affiliate's token; nil without one.
        public var affiliate: String?
        /// The campaign's name; nil without one.
        public var campaign: String?
        /// The provider's number; nil without one.
        public var provider: String?
        /// Whether the row stands for all further campaigns of the day.
        public var isRest: Bool
        /// The number of views.
        public var views: Int64

        /// Creates a row.
        public init(
            day: String, affiliate: String?, campaign: String?, provider: String?, isRest: Bool, views: Int64
        ) {
            self.day = day
            self.affiliate = affiliate
            self.campaign = campaign
            self.provider = provider
            self.isRest = isRest
            self.views = views
        }
    }
}
