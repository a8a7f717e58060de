import Foundation
import StoreWire

/// The clock of one store.
///
/// It runs ahead of the real clock or behind it, or is frozen. Every date and expiry of the store follows it, but
/// transaction ids are made from real time.
public final class StoreClock: Sendable {
    /// The relation between the store's time and real time.
    public enum Setting: Sendable, Equatable {
        /// Real time plus an offset in milliseconds.
        case running(offset: Int64)
        /// Frozen at an instant, in milliseconds since 1970.
        case frozen(at: Int64)
    }

    /// The instants that the clock can be set to. The certificates are valid for the whole range.
    public static let range: ClosedRange<Int64> = 978_307_200_000...4_102_444_800_000  // 2001-01-01 to 2100-01-01

    /// The setting. In a store it follows the database.
    let setting: DatabaseCopy<Setting>
    private let realTime: @Sendable () -> Date

    /// - Parameters:
    ///   - setting: the saved setting, or `.running(offset: 0)`.
    ///   - realTime: the machine's clock.
    public init(_ setting: Setting, realTime: @escaping @Sendable () -> Date) {
        self.setting = DatabaseCopy(setting)
        self.realTime = realTime
    }

    /// The current setting.
    public var current: Setting { setting.value }

    /// The store's time in milliseconds since 1970.
    public var milliseconds: Int64 {
        let real = realMilliseconds
        return switch current {
        case .running(let offset): min(max(real + offset, Self.range.lowerBound), Self.range.upperBound)
        case .frozen(let instant): instant
        }
    }

    /// The machine's time in milliseconds since 1970. Transaction ids are made from it.
    public var realMilliseconds: Int64 { Int64((realTime().timeIntervalSince1970 * 1000).rounded(.down)) }

    /// Sets the clock to an instant in milliseconds since 1970. A running clock keeps running and a frozen one stays
    /// frozen.
    /// - Throws: ``StoreError`` `invalid_request` outside ``range``.
    public func set(to instant: Int64) throws {
        guard Self.range.contains(instant) else {
            throw StoreError(.invalidRequest, "The clock can be set from 2001-01-01 to 2100-01-01.")
        }
        let real = realMilliseconds
        setting.update {
            switch $0 {
            case .running: $0 = .running(offset: instant - real)
            case .frozen: $0 = .frozen(at: instant)
            }
        }
    }

    /// Advances the clock by milliseconds. A negative number sets it back.
    /// - Throws: ``StoreError`` `invalid_request` when it would leave ``range``.
    public func advance(by milliseconds: Int64) throws {
        let (instant, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
        guard !overflow else { throw StoreError(.invalidRequest, "The clock cannot move that far.") }
        try set(to: instant)
    }

    /// Advances the clock by months of the calendar, in which periods of subscriptions are reckoned. A negative number
    /// sets it back.
    /// - Throws: ``StoreError`` `invalid_request` when it would leave ``range``.
    public func advance(months: Int64) throws {
        guard months.magnitude <= 1200 else {
            throw StoreError(.invalidRequest, "The clock cannot move that far.")
        }
        try set(to: SubscriptionPeriod(unit: .month, count: Int(months)).end(from: milliseconds))
    }

    /// Freezes the clock at its current time.
    public func freeze() {
        let now = milliseconds
        setting.update { $0 = .frozen(at: now) }
    }

    /// Resumes a frozen clock from its current time.
    public func resume() {
        let (now, real) = (milliseconds, realMilliseconds)
        setting.update { $0 = .running(offset: now - real) }
    }

    /// Sets the clock to real time, running.
    public func reset() { setting.update { $0 = .running(offset: 0) } }

    /// A clock with another setting over the same machine's clock.
    func copy(_ setting: Setting) -> StoreClock { StoreClock(setting, realTime: realTime) }
}
