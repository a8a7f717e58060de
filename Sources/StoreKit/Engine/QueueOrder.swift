import Foundation

/// The keys of the entries in one phase, in the queue's order. Taking the first keys and appending a key take constant
/// time.
///
/// A key remains after its entry has left the phase, until the front reaches it. The reader decides which keys are
/// still valid.
struct QueueOrder: Sendable {
    private struct Place: Sendable {
        let position: Int64
        let key: UUID
    }

    private var places: [Place] = []
    /// The index of the first key. Places before it are removed from time to time.
    private var front = 0

    /// Inserts an entry in the order of positions.
    mutating func insert(_ entry: PaymentQueueEntry) {
        let place = Place(position: entry.position, key: entry.key)
        guard let last = places.last, front < places.count, last.position >= place.position else {
            places.append(place)
            return
        }
        var low = front
        var high = places.count
        while low < high {
            let middle = (low + high) / 2
            if places[middle].position < place.position { low = middle + 1 } else { high = middle }
        }
        guard places[low].position != place.position else { return }
        places.insert(place, at: low)
    }

    /// The first `count` keys for which `isGood` returns `take`, in order. Keys at the front that are gone are removed.
    mutating func first(_ count: Int, where isGood: (UUID) -> Verdict) -> [UUID] {
        var found: [UUID] = []
        var index = front
        var isFront = true
        while index < places.count, found.count < count {
            switch isGood(places[index].key) {
            case .take:
                found.append(places[index].key)
                isFront = false
            case .leave: isFront = false
            case .gone: if isFront { front = index + 1 }
            }
            index += 1
        }
        if front > 64, front > places.count / 2 {
            places.removeFirst(front)
            front = 0
        }
        return found
    }

    enum Verdict {
        /// The entry is wanted.
        case take
        /// The entry is in the phase, but not wanted now.
        case leave
        /// The entry has left the phase.
        case gone
    }
}
