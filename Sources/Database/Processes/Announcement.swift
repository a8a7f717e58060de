/// A change of something that other processes keep in memory.
public struct Announcement: Sendable, Hashable {
    /// The greatest size of a detail, in bytes.
    public static let longestDetail = 500

    /// The kind of data that has changed: the last word of the schema's name, a full stop, and the topic that was given
    /// to ``Connection/announce(_:_:isAwaited:)``, as `sandbox.accounts`.
    public var topic: String
    /// Which part of it has changed; empty for all of it.
    public var detail: String

    /// Creates an announcement from its topic and its detail.
    public init(topic: String, detail: String = "") {
        self.topic = topic
        self.detail = detail
    }

    /// Whether the topic consists of 1 to 40 small letters and full stops, and the detail of at most
    /// ``longestDetail`` bytes in one line.
    var isWellFormed: Bool {
        let isTopic = topic.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == 0x2e }
        return isTopic && (1...40).contains(topic.utf8.count) && detail.utf8.count <= Self.longestDetail
            && !detail.utf8.contains(0) && !detail.utf8.contains(0x0a)
    }
}

/// The announcements of one transaction as the text of a notification: a line with the node and the version, and a line
/// for each announcement with its topic, a space and its detail.
struct ChangeNotice: Equatable {
    /// The greatest size of the text, in bytes. PostgreSQL allows 7,999
    /// (https://www.postgresql.org/docs/15/sql-notify.html).
    static let longest = 7_900
    /// Stands for announcements that do not fit.
    private static let everything = "*"

    /// The process that made the changes.
    var node: Int
    /// The number of the transaction among those of this node that announced something: 1, 2, 3….
    var version: Int64
    /// Nil when they did not fit.
    var announcements: [Announcement]?

    /// The text of the notification.
    var payload: String {
        let head = "\(node) \(version)"
        let lines = announcements?.map { "\($0.topic) \($0.detail)" } ?? [Self.everything]
        let text = ([head] + lines).joined(separator: "\n")
        return text.utf8.count <= Self.longest ? text : "\(head)\n\(Self.everything)"
    }

    init(node: Int, version: Int64, announcements: [Announcement]?) {
        self.node = node
        self.version = version
        self.announcements = announcements
    }

    /// Reads a notification; nil for one of another form.
    init?(payload: String) {
        let lines = payload.split(separator: "\n", omittingEmptySubsequences: false)
        let head = (lines.first ?? "").split(separator: " ")
        guard head.count == 2, let node = Int(head[0]), let version = Int64(head[1]), lines.count > 1 else {
            return nil
        }
        self.node = node
        self.version = version
        guard lines[1] != Self.everything else { return }
        announcements = lines.dropFirst().map { line in
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            return Announcement(topic: String(parts[0]), detail: parts.count > 1 ? String(parts[1]) : "")
        }
    }
}
