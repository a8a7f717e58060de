import ControlWire
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
    /// The other processes that live, and those that were lately silenced.
    var known: [KnownProcess] = []
}

extension ProcessState {
    init(_ membership: Membership, own: ProcessFacts, doublyDescribed: [BundleID] = []) {
        self.init(
            membership: membership.state, isCurrent: membership.isCurrent, others: membership.others, own: own,
            doublyDescribed: doublyDescribed, known: membership.known)
    }

    /// Why the process cannot answer requests, as far as the others matter: the `reason` of `GET /ready`; nil when it
    /// can.
    var problem: String? {
        if let problem = membership.problem { return problem }
        guard isCurrent else { return StoreHealth.Problem.cannotHear.rawValue }
        let isAlike = otherCatalog == nil && doublyDescribed.isEmpty
        return isAlike ? nil : StoreHealth.Problem.catalogDiffers.rawValue
    }

    /// The oldest other process whose catalog files differ from this one's, if it is older than this one. The younger
    /// process was given other files, or has not seen the new ones yet.
    var otherCatalog: ProcessFacts? {
        others.filter { ($0.startedAt, $0.node) < (own.startedAt, own.node) && $0.catalog != own.catalog }
            .min { ($0.startedAt, $0.node) < ($1.startedAt, $1.node) }
    }
}

extension ControlAPI.StoreProcess {
    /// The longest silence of a process that lives, in milliseconds. It gives a sign of life four times a second.
    private static let longestPause: Int64 = 2_000

    /// This process and the others that it knows, in the order of their numbers. The state of each is about a second
    /// old, but this process knows at once that it does not hear the others.
    static func all(_ state: ProcessState) -> [ControlAPI.StoreProcess] {
        let others = state.known.map { known in
            let isSilent = known.silence > longestPause
            return Self(
                known.facts, isOwn: false, state: isSilent ? silent : known.facts.problem ?? ready,
                silence: known.silence)
        }
        let own = Self(state.own, isOwn: true, state: state.problem ?? state.own.problem ?? ready, silence: 0)
        return (others + [own]).sorted { $0.node < $1.node }
    }

    private init(_ facts: ProcessFacts, isOwn: Bool, state: String, silence: Int64) {
        self.init(
            node: facts.node, name: facts.name, address: facts.address, startedDate: ControlAPI.text(facts.startedAt),
            isOwn: isOwn, state: state, silence: Int(silence / 1_000))
    }
}
