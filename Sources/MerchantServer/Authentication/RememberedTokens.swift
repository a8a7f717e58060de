import Foundation
import MerchantWire
import StoreWire
import Synchronization

/// A token, or the id of a key, compared by its bytes.
struct ExactText: StringIdentifier {
    let rawValue: String
    init(rawValue: String) { self.rawValue = rawValue }
}

/// Verified tokens, until they expire. When the memory is full, the older half is forgotten and must be verified again.
final class RememberedTokens: Sendable {
    private struct Entry {
        var user: UserID
        /// Seconds since 1970.
        var expiresAt: Double
    }

    private struct Generations {
        var young: [ExactText: Entry] = [:]
        var old: [ExactText: Entry] = [:]
        /// How many times everything was forgotten.
        var epoch = 0
    }

    private let capacity: Int
    private let generations = Mutex(Generations())

    /// - Parameter capacity: the largest number of tokens.
    init(capacity: Int) { self.capacity = capacity }

    /// The current epoch. Read it before you verify a token, and give it to ``insert(_:user:expiresAt:epoch:)``.
    var epoch: Int { generations.withLock { $0.epoch } }

    /// The user of a token that was verified and has not expired.
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

    /// Remembers a verified token, unless everything was forgotten since `epoch`: the token's key may have been removed
    /// then.
    func insert(_ token: String, user: UserID, expiresAt: Date, epoch: Int) {
        generations.withLock { generations in
            guard generations.epoch == epoch else { return }
            insert(
                Entry(user: user, expiresAt: expiresAt.timeIntervalSince1970), ExactText(token), into: &generations)
        }
    }

    func removeAll() { generations.withLock { $0 = Generations(epoch: $0.epoch + 1) } }

    /// The number of remembered tokens.
    var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    private func insert(_ entry: Entry, _ token: ExactText, into generations: inout Generations) {
        if generations.young.count >= max(1, capacity / 2) {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[token] = entry
    }
}
