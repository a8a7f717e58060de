import Foundation

/// Apple's ad attribution. Not available on Linux.
@available(*, unavailable, message: "there is no advertising network here; leave the calls out on Linux")
public final class SKAdNetwork: NSObject {
    /// A coarse conversion value: low, medium or high. Not available on Linux.
    @available(*, unavailable, message: "there is no advertising network here")
    public struct CoarseConversionValue: Hashable, Sendable {}
}

/// An ad impression. Not available on Linux.
@available(*, unavailable, message: "there is no advertising network here; leave the calls out on Linux")
public final class SKAdImpression: NSObject {}

/// An ad attribution error. Not available on Linux.
@available(*, unavailable, message: "there is no advertising network here; leave the calls out on Linux")
public struct SKANError: Error {}
