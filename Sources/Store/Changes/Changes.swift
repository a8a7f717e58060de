import StoreWire
import Synchronization

/// Something that an operator's page shows and that can change.
public struct ChangeTopic: Sendable, Hashable {
    /// The part of the server that changed.
    public enum Subject: Int, Sendable, CaseIterable {
        /// The ledger: purchases, finished and refunded transactions.
        case transactions
        /// Attempts to buy that did not succeed at once.
        case attempts
        /// Accounts and their devices.
        case accounts
        /// The store's clock.
        case clock
        /// Faults and payment rules, ordered and met.
        case faults
        /// Promoted purchases, price increases and codes.
        case offers
        /// The catalog, or the problems of its files.
        case catalog
        /// Hosted content.
        case content
        /// Ratings and reviews.
        case reviews
        /// The partner feed and the partners.
        case feeds
        /// Payment sheets.
        case sheets
        /// The apps that run on a page in a browser.
        case screens
        /// The log of requests.
        case requests
        /// The changes that operators made.
        case audit
        /// The processes of the store.
        case processes

        /// Whether each process of a store has the subject of its own.
        var isOfOneProcess: Bool {
            switch self {
            case .sheets, .screens, .requests, .processes: true
            case .transactions, .attempts, .accounts, .clock, .faults, .offers, .catalog, .content, .reviews, .feeds,
                .audit:
                false
            }
        }

        /// Whether each environment has the subject of its own.
        var isOfOneEnvironment: Bool {
            switch self {
            case .transactions, .attempts, .accounts, .clock, .faults, .offers: true
            case .catalog, .content, .reviews, .feeds, .sheets, .screens, .requests, .audit, .processes: false
            }
        }
    }

    /// The part that changed.
    public let subject: Subject
    /// The environment; nil for what both share.
    public let environment: StoreEnvironment?
    /// The topic's place among the counters.
    fileprivate let index: Int

    /// The topic of a subject. The environment does not matter for a subject that both share.
    public init(_ subject: Subject, _ environment: StoreEnvironment?) {
        self.subject = subject
        self.environment = subject.isOfOneEnvironment ? environment ?? .sandbox : nil
        index = subject.rawValue * 2 + (self.environment == .production ? 1 : 0)
    }

    /// The topic's name, such as `sandbox.transactions` or `catalog`.
    public var name: String { (environment.map { $0.name + "." } ?? "") + "\(subject)" }

    /// All topics.
    public static let all: [ChangeTopic] = Subject.allCases.flatMap { subject in
        subject.isOfOneEnvironment
            ? StoreEnvironment.allCases.map { ChangeTopic(subject, $0) } : [ChangeTopic(subject, nil)]
    }
}

/// Counts the changes by topic, so that pages can learn *that* something changed.
///
/// A change costs one atomic increment. Readers remember a ``Snapshot`` and compare: nothing is kept for a reader, and
/// a reader that is too slow misses no change.
public final class Changes: Sendable {
    private final class Counter: Sendable {
        let value = Atomic<UInt64>(0)
    }

    /// The state of all counters at one moment.
    public struct Snapshot: Sendable, Equatable {
        fileprivate var counts: [UInt64]

        /// The topics that changed between an earlier snapshot and this one.
        public func changed(since earlier: Snapshot) -> [ChangeTopic] {
            ChangeTopic.all.filter { counts[$0.index] != earlier.counts[$0.index] }
        }
    }

    /// The shortest time between two looks of a reader: four a second.
    public static let pause = Duration.milliseconds(250)

    /// The changes that this process made.
    private let counters: [Counter] = Changes.makeCounters()
    /// The changes that other processes told of.
    private let heard: [Counter] = Changes.makeCounters()

    /// Creates counters of no changes.
    public init() {}

    private static func makeCounters() -> [Counter] {
        (0..<ChangeTopic.Subject.allCases.count * 2).map { _ in Counter() }
    }

    /// Records that a topic changed. Call it after the change is durable.
    public func record(_ topic: ChangeTopic) {
        counters[topic.index].value.wrappingAdd(1, ordering: .relaxed)
    }

    /// Records that another process told of changes.
    /// - Parameter names: the names of topics. Others than those of ``ChangeTopic/all`` are ignored.
    public func hear(_ names: [String]) {
        let names = Set(names)
        for topic in ChangeTopic.all where names.contains(topic.name) {
            heard[topic.index].value.wrappingAdd(1, ordering: .relaxed)
        }
    }

    /// The counters now.
    public var snapshot: Snapshot {
        Snapshot(
            counts: zip(counters, heard).map {
                $0.value.load(ordering: .relaxed) &+ $1.value.load(ordering: .relaxed)
            })
    }

    /// The counters now, without the changes that other processes told of.
    public var ownSnapshot: Snapshot { Snapshot(counts: counters.map { $0.value.load(ordering: .relaxed) }) }

    /// The names of the topics that this process changed between two of its own snapshots, to tell others. Leaves out
    /// the topics that each process has of its own.
    public static func names(changedFrom earlier: Snapshot, to later: Snapshot) -> [String] {
        later.changed(since: earlier).filter { !$0.subject.isOfOneProcess }.map(\.name)
    }

    /// Waits until a topic differs from a snapshot, at least ``pause`` and at most `longest`.
    /// - Returns: the newer snapshot, which equals the earlier one when the time has passed without a change.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func wait(since earlier: Snapshot, upTo longest: Duration) async throws -> Snapshot {
        let end = ContinuousClock.now + longest
        while true {
            try await Task.sleep(for: Self.pause)
            let now = snapshot
            if now != earlier || ContinuousClock.now >= end { return now }
        }
    }
}
