import Synchronization

/// A claim that a process keeps for as long as a task runs.
public final class KeptClaim: Sendable {
    private let claims: Claims
    private let name: String
    private let seconds: Int64
    private let end = Mutex<ContinuousClock.Instant?>(nil)

    /// Describes a claim. ``keep(onRefusal:)`` takes it.
    /// - Parameters:
    ///   - name: what is claimed.
    ///   - seconds: how long other processes wait for the claim after this one has ended without a release; at least 3.
    public init(_ claims: Claims, _ name: String, seconds: Int64) {
        (self.claims, self.name, self.seconds) = (claims, name, seconds)
    }

    /// Whether this process has the claim.
    public var isHeld: Bool { end.withLock { $0 }.map { $0 > .now } ?? false }

    /// Takes the claim as soon as no other process has it, prolongs it until the task is cancelled, and releases it.
    /// - Parameter onRefusal: called once, when another process has the claim.
    public func keep(onRefusal: @Sendable () -> Void = {}) async {
        var wasRefused = false
        repeat {
            let start = ContinuousClock.now
            switch try? await claims.take(name, seconds: seconds) {
            case true?:
                let until = start + Duration.seconds(seconds)
                end.withLock { $0 = until }
            // The claims refuse a process that is not current, too, though none may have this one.
            case false? where !wasRefused && claims.isCurrent:
                wasRefused = true
                onRefusal()
            case false?, nil: break
            }
        } while (try? await Task.sleep(for: .seconds(seconds / 3))) != nil
        end.withLock { $0 = nil }
        await claims.release(name)
    }
}
