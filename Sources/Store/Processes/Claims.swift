import Database
import Foundation
import StoreWire

/// The claims of the processes that share a store: the rows of `claims`. One process at a time has a claim, until it
/// releases the claim or the time is over.
///
/// A claim saves double work and double sending. Work under a claim must be correct without it, because a process that
/// stood still may go on after its time, and the machines' clocks differ by up to two seconds.
public struct Claims: Sendable {
    /// How often ``wait(for:seconds:upTo:)`` asks.
    static let pause = Duration.milliseconds(50)
    /// How long ``wait(for:seconds:upTo:)`` waits, unless the caller says otherwise.
    static let patience = Duration.seconds(60)

    /// The identifier of this process among the holders of claims. A process that starts again has another one.
    public let holder: UUID
    private let database: Database
    private let membership: Membership?
    /// The machine's clock, in milliseconds since 1970.
    let now: @Sendable () -> Int64

    /// Creates the claims of a process.
    /// - Parameters:
    ///   - holder: an identifier that no other process has, and that changes with each start.
    ///   - now: the machine's clock, in milliseconds since 1970.
    public init(_ databases: StoreDatabases, holder: UUID, now: @escaping @Sendable () -> Int64) {
        self.init(databases.apps, databases.membership, holder: holder, now: now)
    }

    /// Creates the claims of a command beside the processes.
    init(
        _ apps: Database, _ membership: Membership? = nil, holder: UUID, now: @escaping @Sendable () -> Int64
    ) {
        database = apps
        self.membership = membership
        self.holder = holder
        self.now = now
    }

    /// Whether this process has heard and applied the changes of the others recently enough to do scheduled work, and
    /// its clock is right.
    public var isCurrent: Bool { membership?.isCurrent ?? true }

    /// Takes a claim, or prolongs it.
    /// - Parameters:
    ///   - name: what is claimed, such as `sandbox.subscriptions`.
    ///   - seconds: the time from now until another process may take the claim.
    /// - Returns: false while another process has the claim, and while this process is not ``isCurrent``.
    /// - Throws: ``DatabaseError``.
    public func take(_ name: String, seconds: Int64) async throws -> Bool {
        guard isCurrent else { return false }
        let (now, holder) = (now(), holder.uuidString)
        return try await database.write { connection in
            try connection.queryOne(
                """
                INSERT INTO claims (name, holder, held_until) VALUES ($1, $2, $3)
                ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
                WHERE claims.holder = excluded.holder OR claims.held_until < $4
                RETURNING holder
                """, [name, holder, now + seconds * 1000, now]) != nil
        }
    }

    /// Waits until this process has a claim. A process that ended without a release keeps it until its time is over.
    /// - Parameter patience: the longest wait.
    /// - Throws: ``StoreError`` `unavailable` when another process has kept the claim for so long, or when this one is
    ///   not ``isCurrent``; ``DatabaseError``; `CancellationError` when the task is cancelled.
    func wait(for name: String, seconds: Int64, upTo patience: Duration = Self.patience) async throws {
        let end = ContinuousClock.now + patience
        while try await !take(name, seconds: seconds) {
            guard isCurrent else {
                throw StoreError(
                    .unavailable,
                    "This process of the store is not ready, for a reason that GET /ready names. Try again later.")
            }
            guard .now < end else {
                throw StoreError(.unavailable, "Another process of the store is still at work. Try again later.")
            }
            try await Task.sleep(for: Self.pause)
        }
    }

    /// Gives a claim of this process back. Does nothing when another process has it. After an error of the database the
    /// claim ends with its time.
    public func release(_ name: String) async {
        let holder = holder.uuidString
        _ = try? await database.write { connection in
            try connection.execute("DELETE FROM claims WHERE name = $1 AND holder = $2", [name, holder])
        }
    }
}
