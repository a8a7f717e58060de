import Foundation

/// Shows a store page in the app. There are no view controllers on Linux: the configuration's ``StorePresenter`` shows
/// the loaded page at once, until the customer dismisses it.
open class SKStoreProductViewController: NSObject {
    /// The delegate, called when the customer dismisses the page. It is not retained.
    open weak var delegate: (any SKStoreProductViewControllerDelegate)?

    private let fixedEngine: StoreKitEngine?

    /// Creates a controller without a page.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    /// Loads a page, calls `block` with the result on the callback queue, then shows the page. The controller stays
    /// alive until the customer dismisses the page.
    ///
    /// - Parameters:
    ///   - parameters: the values for ``SKStoreProductParameterITunesItemIdentifier`` and
    ///     ``SKStoreProductParameterProductIdentifier``. Other keys are accepted and ignored.
    ///   - block: receives true, or false with an ``SKError``: `storeProductNotAvailable` when no such page exists.
    open func loadProduct(
        withParameters parameters: [String: Any], completionBlock block: ((Bool, (any Error)?) -> Void)? = nil
    ) {
        let engine = fixedEngine ?? .shared
        let wanted = StoreProductParameters(parameters)
        let controller = Carried(object: self)
        let completion = Carried(object: block)
        Task {
            let answer =
                if let wanted { await engine.page(wanted) } else {
                    Result<StoreProductPage, SKError>.failure(PaymentFailure.notAvailable.error)
                }
            engine.callbackQueue.async {
                switch answer {
                case .success(let page):
                    completion.object?(true, nil)
                    controller.object.show(page, engine)
                case .failure(let error):
                    completion.object?(false, error)
                }
            }
        }
    }

    /// Loads and shows a page, as ``loadProduct(withParameters:completionBlock:)`` does. It returns before the customer
    /// dismisses the page.
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

    private func show(_ page: StoreProductPage, _ engine: StoreKitEngine) {
        let carried = Carried(object: self)
        Task {
            await engine.show(page)
            engine.callbackQueue.async {
                carried.object.delegate?.productViewControllerDidFinish(carried.object)
            }
        }
    }
}

/// The delegate of a product view controller. Its method is optional.
public protocol SKStoreProductViewControllerDelegate: NSObjectProtocol {
    /// Reports that the customer dismissed the page.
    func productViewControllerDidFinish(_ viewController: SKStoreProductViewController)
}

extension SKStoreProductViewControllerDelegate {
    /// Does nothing.
    public func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {}
}
