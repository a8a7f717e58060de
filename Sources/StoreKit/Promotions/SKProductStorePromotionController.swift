import Foundation
import StoreWire

/// Whether a promoted product is visible on this device.
public enum SKProductStorePromotionVisibility: Int, Sendable {
    /// The visibility set in the store.
    case `default` = 0
    /// The product is visible.
    case show = 1
    /// The product is hidden.
    case hide = 2
}

// @unchecked: the engine is Sendable, and nothing else is held.
/// Sets which of the app's products are promoted on this device, and in which order.
///
/// The settings are stored in the device's folder for this app. As in Apple's StoreKit, the store does not receive
/// them. The controller calls completion handlers on the callback queue.
open class SKProductStorePromotionController: NSObject, @unchecked Sendable {
    private static let shared = SKProductStorePromotionController()

    private let fixedEngine: StoreKitEngine?

    /// Creates an object for the same settings as ``default()``.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    private var engine: StoreKitEngine { fixedEngine ?? .shared }

    /// The app's controller.
    open class func `default`() -> SKProductStorePromotionController { shared }

    /// Reads a product's visibility.
    open func fetchStorePromotionVisibility(
        forProduct product: SKProduct,
        completionHandler: ((SKProductStorePromotionVisibility, (any Error)?) -> Void)? = nil
    ) {
        let visibility = engine.pages.promotions.value.visibility(of: ProductID(product.productIdentifier))
        let carried = Carried(object: completionHandler)
        engine.callbackQueue.async { carried.object?(visibility, nil) }
    }

    /// Reads a product's visibility.
    nonisolated(nonsending) open func promotionVisibility(
        for product: SKProduct
    ) async throws -> SKProductStorePromotionVisibility {
        try await withCheckedThrowingContinuation { continuation in
            fetchStorePromotionVisibility(forProduct: product) { visibility, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: visibility)
                }
            }
        }
    }

    /// Sets a product's visibility.
    ///
    /// - Parameter completionHandler: receives nil, or an ``SKError``: `storeProductNotAvailable` for a product without
    ///   an identifier, `unknown` when the device could not save the setting.
    open func update(
        storePromotionVisibility promotionVisibility: SKProductStorePromotionVisibility, for product: SKProduct,
        completionHandler: (((any Error)?) -> Void)? = nil
    ) {
        let productID = ProductID(product.productIdentifier)
        change(completionHandler) { try $0.set(promotionVisibility, of: productID) }
    }

    /// Sets a product's visibility.
    ///
    /// - Throws: an ``SKError``.
    nonisolated(nonsending) open func update(
        promotionVisibility: SKProductStorePromotionVisibility, for product: SKProduct
    ) async throws {
        try await withCheckedThrowingContinuation { continuation in
            update(storePromotionVisibility: promotionVisibility, for: product) { Self.resume(continuation, $0) }
        }
    }

    /// Reads the app's order of promoted products, with the store's current product data. It omits products that are no
    /// longer for sale. The array is empty when the store's order applies.
    open func fetchStorePromotionOrder(completionHandler: (([SKProduct], (any Error)?) -> Void)? = nil) {
        let engine = engine
        let order = engine.pages.promotions.value.order
        let carried = Carried(object: completionHandler)
        Task {
            let answer = await engine.products(in: order)
            engine.callbackQueue.async {
                switch answer {
                case .success(let products): carried.object?(products.map { SKProduct($0) }, nil)
                case .failure(let error): carried.object?([], error)
                }
            }
        }
    }

    /// Reads the app's order, as ``fetchStorePromotionOrder(completionHandler:)`` does.
    ///
    /// - Throws: an ``SKError`` when the store cannot be reached.
    nonisolated(nonsending) open func promotionOrder() async throws -> [SKProduct] {
        try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Carried<[SKProduct]>, any Error>) in
            fetchStorePromotionOrder { products, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: Carried(object: products))
                }
            }
        }.object
    }

    /// Sets the order of promoted products. An empty array restores the store's order.
    ///
    /// - Parameter completionHandler: receives nil, or an ``SKError`` as for the visibility.
    open func update(
        storePromotionOrder promotionOrder: [SKProduct], completionHandler: (((any Error)?) -> Void)? = nil
    ) {
        let order = promotionOrder.map { ProductID($0.productIdentifier) }
        change(completionHandler) { try $0.set(order: order) }
    }

    /// Sets the order of promoted products. An empty array restores the store's order.
    ///
    /// - Throws: an ``SKError``.
    nonisolated(nonsending) open func update(promotionOrder: [SKProduct]) async throws {
        try await withCheckedThrowingContinuation { continuation in
            update(storePromotionOrder: promotionOrder) { Self.resume(continuation, $0) }
        }
    }

    private static func resume(_ continuation: CheckedContinuation<Void, any Error>, _ error: (any Error)?) {
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
    }

    private func change(
        _ completionHandler: (((any Error)?) -> Void)?,
        _ body: @escaping @Sendable (inout PromotionOverrides) throws -> Void
    ) {
        var failure: SKError?
        do {
            try engine.pages.promotions.change(body)
        } catch PromotionOverrides.Refusal.badIdentifier {
            failure = PaymentFailure.notAvailable.error(in: engine.languages)
        } catch PromotionOverrides.Refusal.tooMany {
            failure = PaymentFailure(.unknown, "At most \(PromotionOverrides.most) products can be promoted.").error
        } catch {
            failure = PaymentFailure(.unknown, "The promotion could not be saved on this device.").error
        }
        let carried = Carried(object: completionHandler)
        let answer: (any Error)? = failure
        engine.callbackQueue.async { carried.object?(answer) }
    }
}

extension StoreKitEngine {
    /// The store's descriptions of these products, in this order.
    fileprivate func products(in order: [ProductID]) async -> Result<[ProductDescription], SKError> {
        guard !order.isEmpty else { return .success([]) }
        return await products(Set(order.map(\.rawValue))).map { answer in
            let known = Dictionary(answer.products.map { ($0.productID, $0) }, uniquingKeysWith: { first, _ in first })
            return order.compactMap { known[$0] }
        }
    }
}
