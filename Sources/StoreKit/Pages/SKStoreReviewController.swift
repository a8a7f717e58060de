import Foundation

/// Asks the customer to rate the app, through the configuration's ``StorePresenter``.
open class SKStoreReviewController: NSObject {
    /// Asks for a review, at most three times in 365 days for each app on a device, as Apple's does. It may show
    /// nothing, and says nothing of what the customer does.
    open class func requestReview() {
        let date = Date()
        Task { await StoreKitEngine.shared.pages.requestReview(at: date) }
    }

    /// Apple's variant for a window scene.
    @available(*, unavailable, message: "there are no window scenes here; use requestReview()")
    open class func requestReview(in windowScene: AnyObject) { requestReview() }
}
