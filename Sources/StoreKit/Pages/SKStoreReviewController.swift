import Foundation

/// Asks the customer to rate the app, through the configuration's ``StorePresenter``.
open class SKStoreReviewController: NSObject {
    /// Asks for a rating and sends it to the store. As in Apple's StoreKit, each app asks at most three times in 365
    /// days on a device, so the call may show nothing, and the app does not learn the customer's answer.
    open class func requestReview() {
        let date = Date()
        Task { await StoreKitEngine.shared.requestReview(at: date) }
    }

    /// Asks for a review in a window scene. Not available on Linux.
    @available(*, unavailable, message: "there are no window scenes here; use requestReview()")
    open class func requestReview(in windowScene: AnyObject) { requestReview() }
}
