import Foundation
import Synchronization

/// Shows a page of the store in the app, through the configuration's ``StorePresenter``.
///
/// Load a page, and present it before or after that. There are no view controllers on Linux, so
/// ``present(completion:)`` stands for UIKit's `present(_:animated:completion:)`:
///
/// ```swift
/// let page = SKStoreProductViewController()
/// page.delegate = self
/// page.loadProduct(withParameters: [SKStoreProductParameterITunesItemIdentifier: 1_400_000_004])
/// #if canImport(UIKit)
/// present(page, animated: true)
/// #else
/// page.present()
/// #endif
/// ```
///
/// When the delegate is called, the page is gone: only an app on Apple's systems dismisses it.
open class SKStoreProductViewController: NSObject {
    /// The delegate, called once for each presentation. It is not retained.
    open weak var delegate: (any SKStoreProductViewControllerDelegate)?

    private let fixedEngine: StoreKitEngine?
    private let presentation = Mutex(ProductPresentation())
    /// The parameters of the last load, for a page that is presented again.
    private let lastParameters = Mutex<StoreProductParameters?>(nil)

    /// Creates a controller without a page.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    private var engine: StoreKitEngine { fixedEngine ?? .shared }

    /// Loads a page and calls `block` with the result on the callback queue. As on Apple's systems, loading alone shows
    /// nothing: the page is shown once it is loaded and presented. The last page that the app loads is the one that is
    /// shown.
    ///
    /// - Parameters:
    ///   - parameters: the values for ``SKStoreProductParameterITunesItemIdentifier`` and
    ///     ``SKStoreProductParameterProductIdentifier``. The store counts the page by the values for
    ///     ``SKStoreProductParameterAffiliateToken``, ``SKStoreProductParameterCampaignToken`` and
    ///     ``SKStoreProductParameterProviderToken``. Other keys are accepted and ignored.
    ///   - block: receives true, or false with an ``SKError``: `storeProductNotAvailable` when no such page exists, and
    ///     `paymentCancelled` when the customer had to sign in and did not. It is always called.
    open func loadProduct(
        withParameters parameters: [String: Any], completionBlock block: ((Bool, (any Error)?) -> Void)? = nil
    ) {
        let wanted = StoreProductParameters(parameters)
        lastParameters.withLock { $0 = wanted }
        load(wanted, block)
    }

    private func load(_ wanted: StoreProductParameters?, _ block: ((Bool, (any Error)?) -> Void)? = nil) {
        let engine = engine
        let load = presentation.withLock { $0.beginLoading() }
        let controller = Carried(object: self)
        let completion = Carried(object: block)
        Task {
            let answer =
                if let wanted { await engine.page(wanted) } else {
                    Result<StoreProductPage, SKError>.failure(PaymentFailure.noPage.error(in: engine.languages))
                }
            engine.callbackQueue.async {
                // First kept, so that the block can present it; and shown only after the block has run.
                controller.object.presentation.withLock { $0.endLoading(load, answer) }
                switch answer {
                case .success: completion.object?(true, nil)
                case .failure(let error): completion.object?(false, error)
                }
                controller.object.showIfReady()
            }
        }
    }

    /// Presents the page, and calls `block` on the callback queue without waiting for the page.
    func beginPresenting(_ block: (() -> Void)?) {
        let isEmpty = presentation.withLock { $0.present() }
        let completion = Carried(object: block)
        engine.callbackQueue.async { completion.object?() }
        if isEmpty, let again = lastParameters.withLock({ $0 }) { load(again) } else { showIfReady() }
    }

    private func showIfReady() {
        guard let showing = presentation.withLock({ $0.takeShowing() }) else { return }
        let engine = engine
        let controller = Carried(object: self)
        Task {
            switch showing {
            case .page(let page): await engine.show(page)
            case .failure(let reason): await engine.pages.presenter.tell(reason)
            }
            engine.callbackQueue.async {
                // First ended, so that the delegate can load and present the next page.
                controller.object.presentation.withLock { $0.finish() }
                controller.object.delegate?.productViewControllerDidFinish(controller.object)
            }
        }
    }

    /// Loads a page, as ``loadProduct(withParameters:completionBlock:)`` does.
    ///
    /// - Throws: an ``SKError``.
    nonisolated(nonsending) open func loadProduct(withParameters parameters: [String: Any]) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            loadProduct(withParameters: parameters) { isLoaded, error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: isLoaded) }
            }
        }
    }

    /// Loads a page with an ad impression. Not available on Linux.
    @available(
        *, unavailable,
        message: "there is no advertising network here; use loadProduct(withParameters:completionBlock:)"
    )
    open func loadProduct(
        withParameters parameters: [String: Any], impression: SKAdImpression,
        completionBlock block: ((Bool, (any Error)?) -> Void)? = nil
    ) { block?(false, SKError(.unsupportedPlatform)) }
}

/// The delegate of a product view controller. Its method is optional.
public protocol SKStoreProductViewControllerDelegate: NSObjectProtocol {
    /// Reports that the page is gone: the customer dismissed it, or bought what it shows.
    func productViewControllerDidFinish(_ viewController: SKStoreProductViewController)
}

extension SKStoreProductViewControllerDelegate {
    /// Does nothing.
    public func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {}
}
