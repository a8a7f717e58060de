import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Database

let membershipTable = Migration(1, "t", ["CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY)"])

/// What a member was told, in its order. Nil stands for everything.
final class ChangeJournal: Sendable {
    private let entries = Mutex<[Announcement?]>([])
    private let failures = Mutex(0)

    /// Makes the next so many calls fail.
    func fail(_ count: Int) { failures.withLock { $0 = count } }

    func hear(_ membership: Membership) {
        membership.hear { [self] announcements in
            let fails = failures.withLock { left in
                defer { left = max(left - 1, 0) }
                return left > 0
            }
            if fails { throw DatabaseError(.unavailable, "for the test") }
            entries.withLock { entries in
                if let announcements { entries += announcements } else { entries.append(nil) }
            }
        }
    }

    /// The details of the announcements.
    var details: [String] { entries.withLock { $0.compactMap { $0?.detail } } }
    var topics: Set<String> { entries.withLock { Set($0.compactMap { $0?.topic }) } }
    /// How often everything was to be read.
    var readings: Int { entries.withLock { $0.filter { $0 == nil }.count } }
}

/// A server, reached directly and through a relay, with a prefix for schemas.
struct MembershipScene {
    let url: String
    let relayedURL: String
    let prefix: String
    let relay: Relay

    var apps: DatabaseLocation { .postgresql(url: url, schema: "\(prefix)_apps", connections: 2) }

    static func with(_ body: (MembershipScene) async throws -> Void) async throws {
        try await Backend.postgresql.withServerDatabase { url, prefix in
            guard let url, var components = URLComponents(string: url) else { return }
            let relay = try Relay(to: UInt16(components.port ?? 5432))
            defer { relay.close() }
            components.port = Int(relay.port)
            try await body(
                MembershipScene(url: url, relayedURL: components.string ?? "", prefix: prefix, relay: relay))
        }
    }

    /// Joins, and lets others join if it is the first.
    func join(
        relayed: Bool = false, node: Int? = nil, version: String = "1", timing: Membership.Timing = .init(),
        lines: LogLines? = nil
    ) async throws -> Membership {
        let membership = try await start(
            relayed: relayed, node: node, version: version, timing: timing, lines: lines)
        try await membership.share()
        return membership
    }

    func start(
        relayed: Bool = false, node: Int? = nil, version: String = "1", timing: Membership.Timing = .init(),
        lines: LogLines? = nil
    ) async throws -> Membership {
        try await Membership(
            of: .postgresql(url: relayed ? relayedURL : url, schema: "\(prefix)_apps", connections: 1),
            name: "process for a test", facts: ProcessFacts(version: version, name: "p", startedAt: 1), node: node,
            timing: timing, logger: lines?.logger ?? .silent)
    }

    /// Opens the apps' database under a membership, and closes both afterwards.
    func withDatabase(_ membership: Membership, _ body: (Database) async throws -> Void) async throws {
        let database = try await Database.open(apps, migrations: [membershipTable], fence: membership, logger: .silent)
        try await body(database)
        await database.close()
        await membership.leave()
    }

    /// Opens the tables of the processes.
    func withProcesses(_ body: (Database) async throws -> Void) async throws {
        let database = try await Database.open(
            .postgresql(url: url, schema: "\(prefix)_processes", connections: 1),
            migrations: ProcessesSchema.migrations, logger: .silent)
        try await body(database)
        await database.close()
    }
}

extension Membership.Timing {
    /// Beats that are so rare that a notification arrives before the second one on a busy machine, too, and patience
    /// with a late answer: then nothing is read again, and every announcement can be counted. Nobody is fresh.
    static var rareBeats: Self {
        var timing = Self()
        (timing.beat, timing.held, timing.current) = (.seconds(4), .seconds(60), .seconds(60))
        timing.patience = .seconds(60)
        return timing
    }
}

extension Database {
    func announce(_ topic: String, _ detail: String, isAwaited: Bool = true) async throws {
        try await write { try $0.announce(topic, detail, isAwaited: isAwaited) }
    }
}

/// A difference from the machine's clock, which can make a reading of the clock wait.
final class ClockShift: Sendable {
    private struct State {
        var milliseconds: Int64 = 0
        /// The readings until one waits; nil when none does.
        var readingsLeft: Int?
    }

    private let state = Mutex(State())

    /// - Parameter pausing: The number of the reading that waits until ``goOn()``, and all after it: 1 for the next.
    func set(_ value: Int64, pausing reading: Int? = nil) {
        state.withLock { $0 = State(milliseconds: value, readingsLeft: reading) }
    }

    /// Whether a reading waits.
    var isPaused: Bool { state.withLock { $0.readingsLeft == 0 } }

    func goOn() { state.withLock { $0.readingsLeft = nil } }

    /// The machine's clock, shifted.
    var machine: @Sendable () -> Int64 {
        {
            self.state.withLock { state in
                if let left = state.readingsLeft { state.readingsLeft = max(left - 1, 0) }
            }
            blockUntil { !self.isPaused }
            return MembershipCore.machineTime() + self.state.withLock { $0.milliseconds }
        }
    }
}
