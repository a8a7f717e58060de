/// The call that stands for UIKit's `present(_:animated:completion:)`.
extension SKStoreProductViewController {
    /// Presents the page, now or as soon as it is loaded, until the customer dismisses it or has bought what it shows.
    /// Then the delegate is called. While the page is presented, the controller stays alive, and another call does
    /// nothing.
    ///
    /// When the page cannot be loaded, the customer reads the reason, and the delegate is called all the same. A page
    /// that is presented again is loaded again.
    ///
    /// - Parameter completion: called on the callback queue when the page is presented, without waiting until it is
    ///   loaded or dismissed.
    public func present(completion: (() -> Void)? = nil) { beginPresenting(completion) }

    /// Presents the page, as ``present(completion:)`` does. It returns before the customer dismisses the page.
    nonisolated(nonsending) public func present() async {
        await withCheckedContinuation { continuation in beginPresenting { continuation.resume() } }
    }
}
