import Foundation

/// Apple's attribution of advertisements.
@available(*, unavailable, message: "there is no advertising network here; leave the calls out on Linux")
public final class SKAdNetwork: NSObject {
    /// A conversion told in three steps.
    @available(*, unavailable, message: "there is no advertising network here")
    public struct CoarseConversionValue: Hashable, Sendable {}
}

/// An advertisement that was shown.
@available(*, unavailable, message: "there is no advertising network here; leave the calls out on Linux")
public final class SKAdImpression: NSObject {}

/// Why an advertisement was not counted.
@available(*, unavailable, message: "there is no advertising network here; leave the calls out on Linux")
public struct SKANError: Error {}
