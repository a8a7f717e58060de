import Foundation

/// The screen that subscribes to Apple Music.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public final class SKCloudServiceSetupViewController: NSObject {}

/// Is told that the customer is done with the screen.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public protocol SKCloudServiceSetupViewControllerDelegate: NSObjectProtocol {}

/// What the screen is asked for.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public struct SKCloudServiceSetupOptionsKey: Hashable, Sendable {}

/// What the screen is to do.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public struct SKCloudServiceSetupAction: Hashable, Sendable {}
