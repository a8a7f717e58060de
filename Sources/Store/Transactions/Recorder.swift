import StoreWire

/// The objects that the store needs, beside a connection, to record changes of the ledger: identifiers, for the news of
/// subscriptions the catalog and the environment's policy, and the apps for their notifications.
struct Recorder: Sendable {
    let ids: TransactionIDs
    let catalog: CurrentCatalog
    let environment: StoreEnvironment
    let policy: RenewalPolicy
    let apps: AppRegistry

    /// Returns the next identifier.
    func next() -> TransactionID { ids.next() }

    /// Returns an identifier that is also higher than one that another process may have made, whose clock may be ahead.
    /// - Parameter number: the newest identifier of those that must keep their order; nil for none.
    func next(above number: Int64?) -> TransactionID { ids.next(above: number.map { TransactionID(rawValue: $0) }) }

    /// Whether an app's server receives notifications in this environment.
    func notifies(_ bundleID: BundleID) -> Bool { notificationVersion(of: bundleID) != nil }

    /// The version of the notifications that an app's server receives in this environment; nil when nobody receives
    /// them.
    func notificationVersion(of bundleID: BundleID) -> NotificationVersion? {
        apps.notificationReceiver(of: bundleID, in: environment)?.version
    }
}
