import StoreWire

/// The data that the store keeps about an app in addition to its catalog.
public struct AppRecord: Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The app's Apple ID ("adam id"): ten digits beginning with 6, as apps of recent years have.
    public var appID: Int64
    /// 32 hexadecimal digits, the `password` of `verifyReceipt`. Secret.
    public var sharedSecret: String
    /// The billing grace period of the app's subscriptions; nil for none.
    public var gracePeriod: GracePeriod?
    /// The receivers of App Store Server Notifications; none in an environment for which the operator set none.
    public var notificationReceivers: [StoreEnvironment: NotificationReceiver] = [:]
}
