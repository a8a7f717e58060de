import Database
import StoreWire

/// The state of this process and of the other processes of its store.
struct ProcessState: Sendable {
    /// Whether the process hears the others, and holds its number.
    var membership: MembershipState
    /// Whether the process has taken over all changes of the others up to a few seconds ago, and answers requests.
    var isCurrent: Bool
    /// The other live processes.
    var others: [ProcessFacts]
    /// The facts about this process for the others.
    var own: ProcessFacts
    /// The managed apps that a catalog file of this process describes as well.
    var doublyDescribed: [BundleID] = []
}

extension ProcessState {
    init(_ membership: Membership, own: ProcessFacts, doublyDescribed: [BundleID] = []) {
        self.init(
            membership: membership.state, isCurrent: membership.isCurrent, others: membership.others, own: own,
            doublyDescribed: doublyDescribed)
    }

    /// The oldest other process whose catalog files differ from this one's, if it is older than this one. The younger
    /// process was given other files, or has not seen the new ones yet.
    var otherCatalog: ProcessFacts? {
        others.filter { ($0.startedAt, $0.node) < (own.startedAt, own.node) && $0.catalog != own.catalog }
            .min { ($0.startedAt, $0.node) < ($1.startedAt, $1.node) }
    }
}
