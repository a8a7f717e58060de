import StoreWire

extension PaymentQueueStateMachine {
    /// Updates the hosted content of transactions that the app knows already. The store may have approved or replaced
    /// the content since. The changed transactions are reported again.
    mutating func renewContent(_ transactions: [TransactionDescription]) -> [Action] {
        let hosted = transactions.reduce(into: [TransactionID: HostedContent]()) { $0[$1.transactionID] = $1.content }
        guard !hosted.isEmpty else { return [] }
        var renewed: [PaymentQueueEntry] = []
        for var entry in entries.values where entry.phase == .purchased || entry.phase == .restored {
            guard let id = entry.transaction?.transactionID, let content = hosted[id],
                entry.transaction?.content != content
            else { continue }
            entry.transaction?.content = content
            put(entry)
            renewed.append(entry)
        }
        renewed.sort { $0.position < $1.position }
        return renewed.isEmpty ? [] : [.save(renewed, isGate: false), .update(renewed)]
    }
}
