/// The rate limits of the App Store Server API.
extension ControlAPI {
    /// How many requests to the App Store Server API an app may make.
    public struct RateLimits: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The requests in an hour by class, such as `history`. A class that is missing is not limited.
        public var requestsPerHour: [String: Int]

        /// Creates limits.
        public init(bundleId: String, requestsPerHour: [String: Int]) {
            self.bundleId = bundleId
            self.requestsPerHour = requestsPerHour
        }
    }

    /// Limits to set.
    public struct RateLimitChange: Codable, Sendable, Equatable {
        /// Whether all classes get Apple's numbers; nil for no.
        public var apple: Bool?
        /// The requests in an hour by class, 1 to 1,000,000,000, which come before Apple's numbers. Other classes stay
        /// as they are.
        public var requestsPerHour: [String: Int]?

        /// Creates a change.
        public init(apple: Bool? = nil, requestsPerHour: [String: Int]? = nil) {
            self.apple = apple
            self.requestsPerHour = requestsPerHour
        }
    }
}
