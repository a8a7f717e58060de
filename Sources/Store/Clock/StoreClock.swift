import Foundation
import Synchronization

/// The time of one store. It runs beside the real clock, ahead of it or behind, or stands still; all that waits obeys it. Ids do not.
public final class StoreClock: Sendable {
    /// How the store's time follows the real time.
    public enum Setting: Sendable, Equatable {
        /// Real time plus so many milliseconds.
        case running(offset: Int64)
        /// Stands at so many milliseconds since 1970.
        case frozen(at: Int64)
    }

    /// The range to which the clock may be set; the certificates are valid over all of it.
    public static let range: ClosedRange<Int64> = 978_307_200_000...4_102_444_800_000  // 2001-01-01 to 2100-01-01

    private let setting: Mutex<Setting>
    private let realTime: @Sendable () -> Date

    /// - Parameters:
    ///   - setting: as it was kept, or `.running(offset: 0)`.
    ///   - realTime: the machine's clock.
    public init(_ setting: Setting, realTime: @escaping @Sendable () -> Date) {
        self.setting = Mutex(setting)
        self.realTime = realTime
    }

    /// How the clock is set.
    public var current: Setting { setting.withLock { $0 } }

    /// The store's time in milliseconds since 1970.
    public var milliseconds: Int64 {
        let real = realMilliseconds
        return switch current {
        case .running(let offset): min(max(real + offset, Self.range.lowerBound), Self.range.upperBound)
        case .frozen(let instant): instant
        }
    }

    /// The machine's time in milliseconds since 1970, which ids are made from.
    public var realMilliseconds: Int64 { Int64((realTime().timeIntervalSince1970 * 1000).rounded(.down)) }

    /// Puts the clock at an instant; it goes on from there, or stays frozen there if it was.
    /// - Throws: ``StoreError`` `invalid_request` outside ``range``.
    public func set(to instant: Int64) throws {
        guard Self.range.contains(instant) else {
            throw StoreError(.invalidRequest, "The clock can be set from 2001-01-01 to 2100-01-01.")
        }
        let real = realMilliseconds
        setting.withLock {
            switch $0 {
            case .running: $0 = .running(offset: instant - real)
            case .frozen: $0 = .frozen(at: instant)
            }
        }
    }

    /// Moves the clock on by milliseconds (or back, when negative).
    /// - Throws: ``StoreError`` `invalid_request` when it would leave ``range``.
    public func advance(by milliseconds: Int64) throws {
        let (instant, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        guard !overflow else { throw StoreError(.invalidRequest, "The clock cannot move that far.") }
        try set(to: instant)
    }

    /// Stops the clock where it is.
    public func freeze() {
        let now = milliseconds
        setting.withLock { $0 = .frozen(at: now) }
    }

    /// Lets the clock go on from where it stands.
    public func resume() {
        let (now, real) = (milliseconds, realMilliseconds)
        setting.withLock { $0 = .running(offset: now - real) }
    }

    /// Goes back to real time.
    public func reset() { setting.withLock { $0 = .running(offset: 0) } }

    /// Takes a setting that was kept before.
    func restore(_ kept: Setting) { setting.withLock { $0 = kept } }
}
