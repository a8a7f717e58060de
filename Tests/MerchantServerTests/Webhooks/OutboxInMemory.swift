import Foundation
import Merchant
import Synchronization

/// An outbox as the database's is, in memory.
final class OutboxInMemory: WebhookOutbox {
    struct Entry: Sendable {
        var event: WebhookEvent
        var dueAt: Int64?
        var outcomes: [WebhookOutcome] = []
        var answers: [WebhookAnswer] = []
    }

    private let entries = Mutex<[Entry]>([])
    /// Tells of every event that was settled.
    let settled: AsyncStream<String>
    private let settling: AsyncStream<String>.Continuation

    init() { (settled, settling) = AsyncStream.makeStream() }

    func add(_ id: String, _ body: String = "{}", at now: Int64) {
        let event = WebhookEvent(eventID: id, type: "test", body: Array(body.utf8), createdAt: now, attempts: 0)
        entries.withLock { $0.append(Entry(event: event, dueAt: now)) }
    }

    func entry(_ id: String) -> Entry? { entries.withLock { $0.first { $0.event.eventID == id } } }

    func takeDueEvents(limit: Int, retries: Int, now: Int64, leaseEnd: Int64) async throws -> [WebhookEvent] {
        entries.withLock { entries in
            var taken: [WebhookEvent] = []
            var places = (new: limit, tried: retries)
            for index in entries.indices where entries[index].dueAt.map({ $0 <= now }) ?? false {
                if entries[index].event.attempts == 0 { places.new -= 1 } else { places.tried -= 1 }
                guard (entries[index].event.attempts == 0 ? places.new : places.tried) >= 0 else { continue }
                entries[index].dueAt = leaseEnd
                taken.append(entries[index].event)
            }
            return taken
        }
    }

    func settle(_ event: WebhookEvent, _ outcome: WebhookOutcome, _ answer: WebhookAnswer, now: Int64) async throws {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.event.eventID == event.eventID }) else { return }
            entries[index].event.attempts += 1
            entries[index].outcomes.append(outcome)
            entries[index].answers.append(answer)
            entries[index].dueAt = if case .retry(let at, _) = outcome { at } else { nil }
        }
        settling.yield(event.eventID)
    }

    func nextDue() async throws -> Int64? { entries.withLock { $0.compactMap(\.dueAt).min() } }
}

/// An outbox that hands over what it has read only when it is told to.
final class SlowOutbox: WebhookOutbox {
    private let base: OutboxInMemory
    /// Tells of every read, when its events are taken.
    let reads: AsyncStream<Void>
    private let reading: AsyncStream<Void>.Continuation
    private let turns: AsyncStream<Void>
    private let turn: AsyncStream<Void>.Continuation

    init(_ base: OutboxInMemory) {
        self.base = base
        (reads, reading) = AsyncStream.makeStream()
        (turns, turn) = AsyncStream.makeStream()
    }

    /// Lets one read end.
    func goOn() { turn.yield() }

    func takeDueEvents(limit: Int, retries: Int, now: Int64, leaseEnd: Int64) async throws -> [WebhookEvent] {
        let events = try await base.takeDueEvents(limit: limit, retries: retries, now: now, leaseEnd: leaseEnd)
        reading.yield()
        for await _ in turns { break }
        return events
    }

    func settle(_ event: WebhookEvent, _ outcome: WebhookOutcome, _ answer: WebhookAnswer, now: Int64) async throws {
        try await base.settle(event, outcome, answer, now: now)
    }

    func nextDue() async throws -> Int64? { try await base.nextDue() }
}
