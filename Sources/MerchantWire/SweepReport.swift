/// The result of a round of questions to the store about subscriptions.
public struct SweepReport: Codable, Sendable, Equatable {
    /// The number of subscriptions that the store was asked about.
    public var asked: Int
    /// The number of those of which the merchant learned something new.
    public var changed: Int
    /// The number of those that the store gave no usable answer about.
    public var failed: Int

    /// Creates a report.
    public init(asked: Int, changed: Int, failed: Int) {
        self.asked = asked
        self.changed = changed
        self.failed = failed
    }
}
