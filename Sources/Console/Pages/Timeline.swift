import ConsolePages
import ControlWire
import StoreWire

/// A customer's events, the last first. The steps of one purchase are a group that opens, and gaps are written out.
struct Timeline {
    /// The time of an event, which decides its place, and the event.
    private typealias Entry = (time: String, event: ConsoleEvent)

    let events: [ConsoleEvent]
    /// Whether there was more than the page shows.
    let isCut: Bool
    /// The most events of a page.
    private static let most = 50
    /// The milliseconds without an event that are written out: one day.
    private static let gap: Int64 = 86_400_000

    /// - Parameters:
    ///   - bought: the newest transactions.
    ///   - tried: the newest attempts that did not succeed at once.
    init(
        _ request: PageRequest, _ detail: ControlAPI.AccountDetail, _ bought: [ControlAPI.Transaction],
        _ tried: [ControlAPI.Attempt]
    ) {
        let asked = Dictionary(tried.compactMap { attempt in attempt.transactionId.map { ($0, attempt) } }) { $1 }
        let restored = Dictionary(grouping: detail.restored, by: \.sourceTransactionId)
        var entries = bought.map { row in
            Self.purchase(row, asked[row.transactionId], restored[row.transactionId] ?? [], request)
        }
        let known = Set(bought.map(\.transactionId))
        for attempt in tried where attempt.transactionId.map({ !known.contains($0) }) ?? true {
            entries.append(Self.attempt(attempt, request))
        }
        // A restore of a purchase that is older than the page's.
        for delivery in detail.restored where !known.contains(delivery.sourceTransactionId) {
            entries.append(Self.restore(delivery, request))
        }
        for device in detail.devices {
            entries.append(Self.entry("Signed in", device.signedInDate, request, detail: "device \(device.deviceId)"))
        }
        entries.append(
            Self.entry("Account created", detail.account.createdDate, request, detail: detail.account.email))
        entries.sort { $0.time > $1.time }
        isCut = entries.count > Self.most
        events = Self.withGaps(Array(entries.prefix(Self.most)), request)
    }

    private static func withGaps(_ entries: [Entry], _ request: PageRequest) -> [ConsoleEvent] {
        var events: [ConsoleEvent] = []
        var earlier: Int64?
        for entry in entries {
            let age = request.moments.age(entry.time) ?? 0
            if let earlier, age - earlier > gap {
                var nothing = ConsoleEvent("Nothing for \(Moments.span((age - earlier).magnitude / 1000))", at: nil)
                nothing.isGap = true
                events.append(nothing)
            }
            earlier = age
            events.append(entry.event)
        }
        return events
    }

    /// A purchase and its steps, at the time of the last one.
    private static func purchase(
        _ row: ControlAPI.Transaction, _ attempt: ControlAPI.Attempt?, _ restored: [ControlAPI.RestoredDelivery],
        _ request: PageRequest
    ) -> Entry {
        let name = (row.name ?? row.productId) + (row.quantity > 1 ? " × \(row.quantity)" : "")
        let link = request.link("transactions/\(row.transactionId.percentEncoded)")
        var steps: [Entry] = []
        if let attempt { steps.append(entry("Requested", attempt.createdDate, request)) }
        steps.append(
            entry(
                "Bought", row.purchaseDate, request, detail: "transaction \(row.transactionId)", link: link,
                note: "\(row.price) \(row.currency)", tone: .good))
        if let date = row.finishedDate { steps.append(entry("Finished by the app", date, request)) }
        for delivery in restored {
            steps.append(restore(delivery, request))
            if let date = delivery.finishedDate {
                steps.append(entry("Finished after the restore", date, request, detail: "device \(delivery.deviceId)"))
            }
        }
        if let date = row.revocationDate {
            steps.append(entry("Refunded", date, request, note: row.revocationReason, tone: .bad))
        }
        steps.sort { $0.time < $1.time }
        let state: (String, ConsoleTone) =
            row.revocationDate != nil
            ? ("Refunded", .bad)
            : row.finishedDate == nil && row.item == nil ? ("Bought, not finished", .warn) : ("Bought", .good)
        let last = steps.last?.time ?? row.purchaseDate
        var group = entry(
            state.0, last, request, detail: name, note: "\(row.price) \(row.currency)", tone: state.1)
        group.event.steps = steps.map(\.event)
        return group
    }

    private static func attempt(_ attempt: ControlAPI.Attempt, _ request: PageRequest) -> Entry {
        let what = words(attempt.state)
        return entry(
            what.text, attempt.createdDate, request, detail: attempt.productId,
            link: attempt.transactionId.map { request.link("transactions/\($0.percentEncoded)") },
            note: ["\(attempt.amount) \(attempt.currency)", attempt.failure?.message].compactMap { $0 }
                .joined(separator: " · "), tone: what.tone)
    }

    private static func words(_ state: ControlAPI.Attempt.State) -> (text: String, tone: ConsoleTone) {
        switch state {
        case .bought: ("Bought later", .good)
        case .declined: ("Declined", .bad)
        case .waiting: ("Waits for approval", .warn)
        case .interrupted: ("Interrupted", .warn)
        }
    }

    private static func restore(_ delivery: ControlAPI.RestoredDelivery, _ request: PageRequest) -> Entry {
        entry(
            "Restored", delivery.restoredDate, request, detail: "transaction \(delivery.sourceTransactionId)",
            link: request.link("transactions/\(delivery.sourceTransactionId.percentEncoded)"),
            note: "to device \(delivery.deviceId)")
    }

    private static func entry(
        _ what: String, _ time: String, _ request: PageRequest, detail: String? = nil, link: String? = nil,
        note: String? = nil, tone: ConsoleTone? = nil
    ) -> Entry {
        let event = ConsoleEvent(
            what, at: time, text: Moments.text(time), ago: request.moments.distance(time), detail: detail, link: link,
            note: note, tone: tone)
        return (time, event)
    }
}
