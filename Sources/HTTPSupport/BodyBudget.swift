import Synchronization

/// The memory for request bodies that all servers of a process share.
///
/// A body's first ``free`` bytes are not counted: the limit on connections bounds them. So small requests, which are
/// nearly all, are answered even while the budget is used up.
public final class BodyBudget: Sendable {
    /// The number of bytes of each body that are not counted.
    static let free = 16 << 10
    /// The number of bytes by which a body's share grows, so that a large body does not count each of its pieces.
    static let step = 64 << 10

    /// The largest number of bytes that bodies may hold at the same time.
    public let limit: Int
    private let held = Atomic(0)

    init(_ limit: Int) { self.limit = limit }

    /// The number of bytes that bodies hold now.
    public var bytes: Int { held.load(ordering: .relaxed) }

    /// The share of a body with the given number of bytes.
    static func room(for count: Int) -> Int { count <= free ? 0 : (count + step - 1) / step * step }

    /// Takes a share. Returns false, and takes nothing, when the budget has less left.
    func take(_ bytes: Int) -> Bool {
        guard held.add(bytes, ordering: .relaxed).newValue <= limit else {
            giveBack(bytes)
            return false
        }
        return true
    }

    /// Returns a share.
    func giveBack(_ bytes: Int) { held.subtract(bytes, ordering: .relaxed) }
}
