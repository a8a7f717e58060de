/// A bounded queue of tickets that is fair between sources.
///
/// Sources take turns. A source's oldest ticket goes first while the source has at most ``calm`` tickets; with more,
/// its newest goes first. When the queue is full, the oldest ticket of the source with the most tickets is dropped. A
/// flood from one source therefore delays each other source by one turn, and a ticket that follows a flood of its own
/// source does not wait for the whole flood. Without a flood, tickets keep their order.
struct FairQueue<Source: Hashable, Ticket: Hashable> {
    /// The most tickets of one source that are served oldest first.
    static var calm: Int { 16 }

    private let capacity: Int
    /// The tickets of each source, oldest first.
    private var waiting: [Source: [Ticket]] = [:]
    /// The sources that have tickets; the first one is next.
    private var turns: [Source] = []
    private(set) var count = 0

    /// - Parameter capacity: the most tickets that can wait, at least 1.
    init(capacity: Int) { self.capacity = max(capacity, 1) }

    /// Adds a ticket.
    /// - Returns: the ticket that was dropped to make room; nil when there was room.
    mutating func add(_ ticket: Ticket, of source: Source) -> Ticket? {
        let dropped = count >= capacity ? dropOldestOfLongest() : nil
        if waiting[source] == nil { turns.append(source) }
        waiting[source, default: []].append(ticket)
        count += 1
        return dropped
    }

    /// Removes and returns the next ticket; nil when the queue is empty.
    mutating func next() -> Ticket? {
        guard !turns.isEmpty else { return nil }
        let source = turns.removeFirst()
        let isFlood = waiting[source, default: []].count > Self.calm
        let ticket = isFlood ? waiting[source]?.popLast() : waiting[source]?.removeFirst()
        if waiting[source]?.isEmpty == false { turns.append(source) } else { waiting[source] = nil }
        count -= 1
        return ticket
    }

    /// Removes a ticket from the queue. Returns false when the ticket is not waiting.
    mutating func remove(_ ticket: Ticket, of source: Source) -> Bool {
        guard let index = waiting[source]?.firstIndex(of: ticket) else { return false }
        removeTicket(at: index, of: source)
        return true
    }

    private mutating func dropOldestOfLongest() -> Ticket? {
        // Ties go to the source that is next, so that the outcome does not depend on hashing.
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
