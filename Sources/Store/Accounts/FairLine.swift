/// A bounded waiting line that no single source can fill for the others.
///
/// Sources take turns. Of one source's own the oldest goes first while at most ``calm`` wait; when more wait, the newest
/// goes first, and when the line is full the oldest of the source with the most waiting is dropped. So a flood of one
/// source delays the others by one turn each, what comes after a flood of the same source does not wait for all of it,
/// and without a flood nobody is overtaken.
struct FairLine<Source: Hashable, Ticket: Hashable> {
    /// The number of waiting tickets of one source up to which they go in the order in which they came.
    static var calm: Int { 16 }

    private let capacity: Int
    /// The tickets of each source, oldest first.
    private var waiting: [Source: [Ticket]] = [:]
    /// The sources that have tickets, the next one's turn first.
    private var turns: [Source] = []
    private(set) var count = 0

    /// - Parameter capacity: tickets that wait at most, at least 1.
    init(capacity: Int) { self.capacity = max(capacity, 1) }

    /// Adds a ticket.
    /// - Returns: the ticket that was let go for it, nil while there is room.
    mutating func add(_ ticket: Ticket, of source: Source) -> Ticket? {
        let dropped = count >= capacity ? dropOldestOfLongest() : nil
        if waiting[source] == nil { turns.append(source) }
        waiting[source, default: []].append(ticket)
        count += 1
        return dropped
    }

    /// Takes the ticket whose turn it is.
    mutating func next() -> Ticket? {
        guard !turns.isEmpty else { return nil }
        let source = turns.removeFirst()
        let isFlood = waiting[source, default: []].count > Self.calm
        let ticket = isFlood ? waiting[source]?.popLast() : waiting[source]?.removeFirst()
        if waiting[source]?.isEmpty == false { turns.append(source) } else { waiting[source] = nil }
        count -= 1
        return ticket
    }

    /// Takes a ticket out of the line. False when it does not wait any more.
    mutating func remove(_ ticket: Ticket, of source: Source) -> Bool {
        guard let index = waiting[source]?.firstIndex(of: ticket) else { return false }
        removeTicket(at: index, of: source)
        return true
    }

    private mutating func dropOldestOfLongest() -> Ticket? {
        // The first of several in the order of turns, so that the outcome does not depend on hashing.
        var longest: (source: Source, count: Int)?
        for source in turns {
            let count = waiting[source]?.count ?? 0
            if count > longest?.count ?? 0 { longest = (source, count) }
        }
        guard let source = longest?.source, let ticket = waiting[source]?.first else { return nil }
        removeTicket(at: 0, of: source)
        return ticket
    }

    private mutating func removeTicket(at index: Int, of source: Source) {
        waiting[source]?.remove(at: index)
        if waiting[source]?.isEmpty == true {
            waiting[source] = nil
            turns.removeAll { $0 == source }
        }
        count -= 1
    }
}
