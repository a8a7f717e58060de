import StoreKit

/// Shows pages of the store in the app. The user buys and reviews there, and returns to the app.
@MainActor
public final class ItemPages: NSObject, @MainActor SKStoreProductViewControllerDelegate {
    private var whenFinished: CheckedContinuation<Void, Never>?
    /// Creates a page's controller. Tests replace it.
    var makePage: () -> SKStoreProductViewController = { SKStoreProductViewController() }

    /// Shows the page of an item, and returns when the user has returned to the app. Shows one page at a time.
    ///
    /// - Throws: StoreKit's error when there is no such page.
    public func show(_ number: Int64) async throws {
        let page = makePage()
        page.delegate = self
        _ = try await page.loadProduct(
            withParameters: [SKStoreProductParameterITunesItemIdentifier: NSNumber(value: number)])
        await withCheckedContinuation { continuation in
            whenFinished = continuation
            // With UIKit, a view controller shows it: viewController.present(page, animated: true).
            page.present()
        }
    }

    /// Returns to the app. With UIKit, the app also dismisses the page here.
    public func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {
        whenFinished?.resume()
        whenFinished = nil
    }
}
