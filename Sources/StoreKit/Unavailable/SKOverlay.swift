import Foundation

/// A banner over a window scene.
@available(*, unavailable, message: "there are no window scenes here; show a page with SKStoreProductViewController")
public final class SKOverlay: NSObject {
    /// Where the banner is.
    @available(*, unavailable, message: "there are no window scenes here")
    public enum Position: Int, Sendable {
        case bottom = 0
        case bottomRaised = 1
    }

    /// What the banner shows.
    @available(*, unavailable, message: "there are no window scenes here")
    public class Configuration: NSObject {}

    /// An app's banner.
    @available(*, unavailable, message: "there are no window scenes here")
    public final class AppConfiguration: NSObject {}

    /// An app clip's banner.
    @available(*, unavailable, message: "there are no app clips here")
    public final class AppClipConfiguration: NSObject {}

    /// How the banner comes and goes.
    @available(*, unavailable, message: "there are no window scenes here")
    public final class TransitionContext: NSObject {}
}

/// Is told how a banner comes and goes.
@available(*, unavailable, message: "there are no window scenes here; show a page with SKStoreProductViewController")
public protocol SKOverlayDelegate: NSObjectProtocol {}
