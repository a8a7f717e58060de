import MerchantWire
import StoreKit
import StoreWire

/// A product of the merchant together with the store's product.
public struct MerchantOffer {
    /// The merchant's product, with its grants and the section that shows it.
    public var product: MerchantProduct
    /// The store's product, with title, description and price. Nil while the store does not sell it or is unreachable.
    public var storeProduct: SKProduct?

    /// The product's identifier, the same for the merchant and the store.
    public var productIdentifier: String { product.productID.rawValue }
}

/// Requests the prices of the merchant's products from StoreKit, on the main queue, where StoreKit calls its delegates.
@MainActor
public final class MerchantOfferLoader: NSObject, @MainActor SKProductsRequestDelegate {
    /// Creates StoreKit's requests. Tests create them for a device of their own.
    public var makePriceRequest: (Set<String>) -> SKProductsRequest = { SKProductsRequest(productIdentifiers: $0) }
    private var running: [ObjectIdentifier: (request: SKProductsRequest, end: CheckedContinuation<Void, Never>)] = [:]
    private var answers: [ObjectIdentifier: [SKProduct]] = [:]
    /// The store's last product for each identifier, used while the store is unreachable.
    private var known: [ProductID: SKProduct] = [:]

    /// Returns the merchant's products with the store's prices, in the merchant's order.
    ///
    /// If the store is unreachable, the offers have the prices that this object received before, if any.
    public func offers(for products: [MerchantProduct]) async -> [MerchantOffer] {
        let identifiers = Set(products.map(\.productID.rawValue))
        if !identifiers.isEmpty { await ask(identifiers) }
        return products.map { MerchantOffer(product: $0, storeProduct: known[$0.productID]) }
    }

    private func ask(_ identifiers: Set<String>) async {
        let request = makePriceRequest(identifiers)
        request.delegate = self
        let key = ObjectIdentifier(request)
        await withCheckedContinuation { end in
            running[key] = (request, end)
            request.start()
        }
        guard let products = answers.removeValue(forKey: key) else { return }
        for identifier in identifiers { known[ProductID(identifier)] = nil }
        for product in products { known[ProductID(product.productIdentifier)] = product }
    }

    /// Keeps the products of StoreKit's response.
    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        answers[ObjectIdentifier(request)] = response.products
    }

    /// Ends the wait for StoreKit's response.
    public func requestDidFinish(_ request: SKRequest) { end(request) }

    /// Ends the wait for StoreKit's response after an error.
    public func request(_ request: SKRequest, didFailWithError error: any Error) { end(request) }

    private func end(_ request: SKRequest) { running.removeValue(forKey: ObjectIdentifier(request))?.end.resume() }
}
