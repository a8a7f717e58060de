import Synchronization

/// The room for requests' bodies that all servers of a process share.
///
/// A body's first ``free`` bytes need no room: the bound on connections holds them, and so the small requests, which
/// are nearly all, are answered also while somebody keeps the room filled.
public final class BodyBudget: Sendable {
    /// The bytes of each body that are not counted.
    static let free = 16 << 10
    /// The bytes that a body takes at once, so that a large one does not count each of its pieces.
    static let step = 64 << 10

    /// The bytes that may be held at the same time.
    public let limit: Int
    private let held = Atomic(0)

    init(_ limit: Int) { self.limit = limit }

    /// The bytes that are held now.
    public var bytes: Int { held.load(ordering: .relaxed) }

    /// The room that a body of so many bytes takes.
    static func room(for count: Int) -> Int { count <= free ? 0 : (count + step - 1) / step * step }

    /// Takes room. False when there is not that much, and then none is taken.
    func take(_ bytes: Int) -> Bool {
        guard held.add(bytes, ordering: .relaxed).newValue <= limit else {
            giveBack(bytes)
            return false
        }
        return true
    }

    /// Gives room back.
    func giveBack(_ bytes: Int) { held.subtract(bytes, ordering: .relaxed) }
}
