import Foundation
import MerchantWire
import StoreWire
import Synchronization

/// A token, or the name of a key, compared by its bytes.
struct ExactText: StringIdentifier {
    let rawValue: String
    init(rawValue: String) { self.rawValue = rawValue }
}

/// Tokens that were verified, until they expire. Bounded: when it is full the older half is forgotten, and verified again when it comes back.
final class RememberedTokens: Sendable {
    private struct Entry {
        var user: UserID
        /// Seconds since 1970.
        var expiresAt: Double
    }

    private struct Generations {
        var young: [ExactText: Entry] = [:]
        var old: [ExactText: Entry] = [:]
        /// Counts the times that everything was forgotten.
        var epoch = 0
    }

    private let capacity: Int
    private let generations = Mutex(Generations())

    /// - Parameter capacity: at most so many tokens.
    init(capacity: Int) { self.capacity = capacity }

    /// To be noted before a token is verified that is remembered afterwards.
    var epoch: Int { generations.withLock { $0.epoch } }

    /// Whose token it is, if it was verified and has not expired.
    func user(of text: String, at now: Date) -> UserID? {
        let token = ExactText(text)
        return generations.withLock { generations in
            if let entry = generations.young[token] {
                if now.timeIntervalSince1970 < entry.expiresAt { return entry.user }
                generations.young[token] = nil
                return nil
            }
            guard let entry = generations.old.removeValue(forKey: token),
                now.timeIntervalSince1970 < entry.expiresAt
            else { return nil }
            insert(entry, token, into: &generations)
            return entry.user
        }
    }

    /// Remembers a verified token, unless everything was forgotten since `epoch`: then its key may be gone.
    func insert(_ token: String, user: UserID, expiresAt: Date, epoch: Int) {
        generations.withLock { generations in
            guard generations.epoch == epoch else { return }
            insert(
                Entry(user: user, expiresAt: expiresAt.timeIntervalSince1970), ExactText(token), into: &generations)
        }
    }

    func removeAll() { generations.withLock { $0 = Generations(epoch: $0.epoch + 1) } }

    /// How many are remembered.
    var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    private func insert(_ entry: Entry, _ token: ExactText, into generations: inout Generations) {
        if generations.young.count >= max(1, capacity / 2) {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[token] = entry
    }
}
