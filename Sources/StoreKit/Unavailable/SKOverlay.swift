import Foundation

/// A banner over a window scene. Not available on Linux.
@available(*, unavailable, message: "there are no window scenes here; show a page with SKStoreProductViewController")
public final class SKOverlay: NSObject {
    /// The position of the banner.
    @available(*, unavailable, message: "there are no window scenes here")
    public enum Position: Int, Sendable {
        /// At the bottom of the scene.
        case bottom = 0
        /// Above the bottom of the scene.
        case bottomRaised = 1
    }

    /// The content of the banner.
    @available(*, unavailable, message: "there are no window scenes here")
    public class Configuration: NSObject {}

    /// The content of an app's banner.
    @available(*, unavailable, message: "there are no window scenes here")
    public final class AppConfiguration: NSObject {}

    /// The content of an app clip's banner.
    @available(*, unavailable, message: "there are no app clips here")
    public final class AppClipConfiguration: NSObject {}

    /// The animation that shows or hides the banner.
    @available(*, unavailable, message: "there are no window scenes here")
    public final class TransitionContext: NSObject {}
}

/// The delegate of a banner. Not available on Linux.
@available(*, unavailable, message: "there are no window scenes here; show a page with SKStoreProductViewController")
public protocol SKOverlayDelegate: NSObjectProtocol {}
