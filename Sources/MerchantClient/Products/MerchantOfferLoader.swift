import MerchantWire
import StoreKit
import StoreWire

/// A product of the merchant's with what the store says of it.
public struct MerchantOffer {
    /// The merchant's: what it gives, on which shelf it stands.
    public var product: MerchantProduct
    /// The store's: title, description, price. Nil while the store does not sell it, or cannot be asked.
    public var storeProduct: SKProduct?

    /// The product's identifier at both.
    public var productIdentifier: String { product.productID.rawValue }
}

/// Asks StoreKit for the prices of what the merchant has on sale, on the main queue, where StoreKit answers.
@MainActor
public final class MerchantOfferLoader: NSObject, @MainActor SKProductsRequestDelegate {
    /// How requests are made. Tests make theirs for a device of their own.
    public var makePriceRequest: (Set<String>) -> SKProductsRequest = { SKProductsRequest(productIdentifiers: $0) }
    private var running: [ObjectIdentifier: (request: SKProductsRequest, end: CheckedContinuation<Void, Never>)] = [:]
    private var answers: [ObjectIdentifier: [SKProduct]] = [:]
    /// The last answer of the store for each product; shown while it cannot be asked.
    private var known: [ProductID: SKProduct] = [:]

    /// The merchant's products with the store's prices, in the merchant's order.
    ///
    /// When the store cannot be asked, the prices are those that it gave this shelf before, if any.
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
