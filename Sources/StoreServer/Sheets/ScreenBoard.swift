import ControlWire
import HTTPSupport
import StoreWire
import Synchronization

/// The apps that run on pages in a browser, as they say themselves. They are kept in memory only, and an app that no
/// longer says so is forgotten.
final class ScreenBoard: Sendable {
    /// The most pages at once.
    static let most = 64
    /// The longest time for which an app can be listed at once, in seconds.
    static let longest = 120
    /// The longest text, in bytes.
    private static let longestText = 1000

    private struct Entry {
        var screen: ControlAPI.Screen
        var end: ContinuousClock.Instant
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant
    private let changed: @Sendable () -> Void

    /// - Parameter changed: called when the list has other entries than before.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant, changed: @escaping @Sendable () -> Void) {
        (self.now, self.changed) = (now, changed)
    }

    /// The pages, by name and address.
    var list: [ControlAPI.Screen] {
        let now = now()
        return entries.withLock { $0.values.filter { $0.end > now }.map(\.screen) }
            .sorted { ($0.name, $0.address) < ($1.name, $1.address) }
    }

    /// Lists a page, for some time, or takes it from the list.
    /// - Returns: false when there are too many.
    /// - Throws: ``HTTPProblem`` 400 for an address of another machine, a long text or a time out of range.
    func announce(_ announced: ControlAPI.ScreenAnnouncement) throws -> Bool {
        let screen = announced.screen
        guard ReturnAddress(screen.address) != nil else {
            throw Self.refusal("“address” must be an http or https address of this machine.")
        }
        guard
            [screen.bundleId, screen.name, screen.device, screen.environment].allSatisfy({
                $0.utf8.count <= Self.longestText
            }), StoreEnvironment(name: screen.environment) != nil
        else {
            throw Self.refusal(
                "“environment” must be sandbox or production, and each text at most \(Self.longestText) bytes.")
        }
        guard (0...Self.longest).contains(announced.seconds) else {
            throw Self.refusal("“seconds” must be a number from 0 to \(Self.longest).")
        }
        let now = now()
        let (isTaken, isNew) = entries.withLock { entries in
            let known = entries.filter { $0.value.end > now }
            entries = known
            guard announced.seconds > 0 else {
                entries[screen.address] = nil
                return (true, known[screen.address] != nil)
            }
            guard known[screen.address] != nil || known.count < Self.most else { return (false, false) }
            entries[screen.address] = Entry(screen: screen, end: now + .seconds(announced.seconds))
            return (true, known[screen.address]?.screen != screen)
        }
        if isNew { changed() }
        return isTaken
    }

    private static func refusal(_ message: String) -> HTTPProblem {
        HTTPProblem(.badRequest, code: "invalid_request", message: message)
    }
}
