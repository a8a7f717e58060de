import MerchantWire
import StoreWire

/// The merchant's products.
extension MerchantClient {
    /// The product list of the last response, without a request; empty when there was none.
    public nonisolated var cachedProducts: [MerchantProduct] {
        productCache.read().map { shown($0.list) } ?? []
    }

    /// Requests the products on sale. An unchanged list is not transferred again. If the merchant is unreachable, the
    /// result is the last list with the error.
    ///
    /// - Throws: ``MerchantClientError`` when the request fails and there is no earlier list.
    public func products() async throws(MerchantClientError) -> MerchantProducts {
        let kept = productCache.read()
        do throws(MerchantClientError) {
            let list = try await newList(kept)
            return MerchantProducts(products: shown(list), problem: nil)
        } catch {
            guard let kept else { throw error }
            return MerchantProducts(products: shown(kept.list), problem: error)
        }
    }

    private func newList(_ kept: ProductCache.Kept?) async throws(MerchantClientError) -> ProductList {
        let response = try await session.transport.send(
            .products(BundleID(configuration.bundleIdentifier)), entityTag: kept?.entityTag)
        if response.status == 304, let kept { return kept.list }
        let list: ProductList = try response.value()
        guard list.products.count <= MerchantLimits.products else {
            throw MerchantClientError(
                .badAnswer,
                "the merchant's list has \(list.products.count) products; the limit is \(MerchantLimits.products)")
        }
        productCache.write(list, entityTag: response.entityTag)
        return list
    }

    private nonisolated func shown(_ list: ProductList) -> [MerchantProduct] {
        list.products.filter { $0.isOnSale && $0.bundleID == BundleID(configuration.bundleIdentifier) }
    }
}
