/// A change that another process announced.
public struct Announcement: Sendable, Hashable {
    /// The part of the schema that changed, after the last word of the schema's name, such as `sandbox.accounts`.
    public var topic: String
    /// The part of the topic that changed, at most 200 bytes; empty for all of it.
    public var detail: String

    /// Creates an announcement.
    public init(topic: String, detail: String) {
        self.topic = topic
        self.detail = detail
    }
}

extension Connection {
    /// Tells the other processes, once the transaction is committed, that what they keep of `topic` has changed.
    public func announce(_ topic: String, _ detail: String = "", isAwaited: Bool = true) throws {}
}
