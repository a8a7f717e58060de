import StoreWire

/// What the store needs, beside a connection, to record changes of the ledger: identifiers, and for the news of
/// subscriptions the catalog.
struct Recorder: Sendable {
    let ids: TransactionIDs
    let catalog: CurrentCatalog
    let environment: StoreEnvironment

    /// Returns the next identifier.
    func next() -> TransactionID { ids.next() }
}
