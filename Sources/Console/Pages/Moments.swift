import ConsolePages
import ControlWire
import Foundation
import StoreReceipts
import StoreWire

/// Times as people read them: store time, UTC, with the time from the store's clock.
struct Moments: Sendable {
    /// The store's clock, in milliseconds.
    var now: Int64

    /// The time of an ISO 8601 text without its `T`, fraction and `Z`.
    static func text(_ time: String) -> String { String(time.prefix(19)).replacing("T", with: " ") }

    /// The time in ISO 8601.
    static func iso(_ milliseconds: Int64) -> String { ReceiptDate(milliseconds: milliseconds).rfc3339 }

    /// How far a time is from the store's clock.
    func distance(_ time: String) -> String? {
        ReceiptDate(rfc3339: time.utf8).map { Self.words($0.milliseconds - now) }
    }

    /// The milliseconds since a time.
    func age(_ time: String) -> Int64? { ReceiptDate(rfc3339: time.utf8).map { now - $0.milliseconds } }

    /// A span in words: `3 min ago`, `in 2 h`.
    static func words(_ milliseconds: Int64) -> String {
        let seconds = milliseconds.magnitude / 1000
        guard seconds >= 5 else { return "now" }
        let span = span(seconds)
        return milliseconds < 0 ? "\(span) ago" : "in \(span)"
    }

    /// A number of seconds in its largest unit.
    static func span(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        case ..<5_259_600: "\(seconds / 86_400) d"
        case ..<63_115_200: "\(seconds / 2_629_800) months"
        default: "\(seconds / 31_557_600) years"
        }
    }

    /// A cell with a time.
    func cell(_ time: String?, link: String? = nil) -> ConsoleCell {
        guard let time else { return ConsoleCell("—", tone: .dim) }
        var cell = ConsoleCell(Self.text(time), link: link, note: distance(time))
        cell.time = time
        return cell
    }

    /// A fact with a time.
    func fact(_ name: String, _ time: String?, note: String? = nil, absent: String = "—") -> ConsoleFact {
        guard let time else { return ConsoleFact(name, absent, note: note) }
        let words = [distance(time), note].compactMap { $0 }.joined(separator: " · ")
        return ConsoleFact(name, Self.text(time), note: words)
    }
}

extension PageRequest {
    /// Times by this store's clock.
    var moments: Moments { Moments(now: clock.milliseconds) }

    /// Times by the machine's clock, which does not move with the store's: requests, the operators' changes, and all
    /// that the merchant writes down.
    var machineMoments: Moments { Moments(now: clock.milliseconds - clock.offset) }

    /// Times by production's clock, which dates what both environments share: hosted content and managed apps.
    /// - Throws: ``APIProblem``.
    func productionMoments() async throws -> Moments {
        guard environment != .production else { return moments }
        let production: ControlAPI.Clock = try await api.ask(.clock(.production))
        return Moments(now: production.milliseconds)
    }
}
