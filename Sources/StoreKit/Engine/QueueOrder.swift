import Foundation

/// The keys of the entries in one phase, in the queue's order. Taking the first ones, and adding behind the last, costs
/// the same however long the queue is.
///
/// A key stays in here after its entry has left the phase, until the front reaches it: the reader says which are still
/// good.
struct QueueOrder: Sendable {
    private struct Place: Sendable {
        let position: Int64
        let key: UUID
    }

    private var places: [Place] = []
    /// Where the front is; what lies before it is thrown away now and then.
    private var front = 0

    /// Puts an entry where its position is.
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

    /// The first `count` entries that `isGood` answers for, in order. What is not good at the front is forgotten.
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
        /// It is asked for.
        case take
        /// It is in the phase still, and not asked for now.
        case leave
        /// It is no more in the phase.
        case gone
    }
}
