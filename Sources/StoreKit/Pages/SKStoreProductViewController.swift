import Foundation

/// Shows a page of the store in the app. There are no view controllers here: what is loaded is shown at once by the
/// configuration's ``StorePresenter``, until the customer is done with it.
open class SKStoreProductViewController: NSObject {
    /// Is told when the customer is done; not retained.
    open weak var delegate: (any SKStoreProductViewControllerDelegate)?

    private let fixedEngine: StoreKitEngine?

    /// A controller that has loaded nothing.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    /// Asks the store for the page, calls `block` with the outcome on the callback queue, then shows it. It stays alive
    /// until the customer is done.
    ///
    /// - Parameters:
    ///   - parameters: by ``SKStoreProductParameterITunesItemIdentifier`` and
    ///     ``SKStoreProductParameterProductIdentifier``; the other keys are taken and not used.
    ///   - block: true, or false with an ``SKError``: `storeProductNotAvailable` when there is no such page.
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

    /// As ``loadProduct(withParameters:completionBlock:)``; returns before the customer is done.
    ///
    /// - Throws: an ``SKError``.
    nonisolated(nonsending) open func loadProduct(withParameters parameters: [String: Any]) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            loadProduct(withParameters: parameters) { isLoaded, error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: isLoaded) }
            }
        }
    }

    /// Apple's variant for advertisements.
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
            let answer = await engine.pages.show(page)
            if answer == .buy, page.isForSale, let product = page.product {
                engine.payments.add(PaymentValues(productIdentifier: product.productIdentifier))
            }
            engine.callbackQueue.async {
                carried.object.delegate?.productViewControllerDidFinish(carried.object)
            }
        }
    }
}

/// Is told when the customer is done with a page. Optional.
public protocol SKStoreProductViewControllerDelegate: NSObjectProtocol {
    /// The customer is done with the page.
    func productViewControllerDidFinish(_ viewController: SKStoreProductViewController)
}

extension SKStoreProductViewControllerDelegate {
    public func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) {}
}
