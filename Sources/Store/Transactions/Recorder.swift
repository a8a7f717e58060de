import StoreWire

/// What the store needs, beside a connection, to record changes of the ledger: identifiers, and for the news of
/// subscriptions the catalog and the environment's policy.
struct Recorder: Sendable {
    let ids: TransactionIDs
    let catalog: CurrentCatalog
    let environment: StoreEnvironment
    let policy: RenewalPolicy

    /// Returns the next identifier.
    func next() -> TransactionID { ids.next() }
}
