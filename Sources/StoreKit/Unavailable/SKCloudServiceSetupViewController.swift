import Foundation

/// The view controller that offers an Apple Music subscription. Not available on Linux.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public final class SKCloudServiceSetupViewController: NSObject {}

/// The delegate of the Apple Music view controller. Not available on Linux.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public protocol SKCloudServiceSetupViewControllerDelegate: NSObjectProtocol {}

/// The key of a setup option. Not available on Linux.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public struct SKCloudServiceSetupOptionsKey: Hashable, Sendable {}

/// A setup action. Not available on Linux.
@available(*, unavailable, message: "there is no Apple Music here; SKCloudServiceController says restricted")
public struct SKCloudServiceSetupAction: Hashable, Sendable {}
