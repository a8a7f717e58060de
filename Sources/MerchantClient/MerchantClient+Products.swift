import MerchantWire
import StoreWire

/// What is on sale.
extension MerchantClient {
    /// What was on sale when the merchant was last asked; at once, and offline. Empty when it never was.
    public nonisolated var cachedProducts: [MerchantProduct] {
        productCache.read().map { shown($0.list) } ?? []
    }

    /// What is on sale. Only a list that has changed is transferred. When the merchant cannot be asked, it is the last one,
    /// with the reason beside it.
    ///
    /// - Throws: ``MerchantClientError`` when there is none at all.
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
                .badAnswer, "the merchant lists \(list.products.count) products, over \(MerchantLimits.products)")
        }
        productCache.write(list, entityTag: response.entityTag)
        return list
    }

    private nonisolated func shown(_ list: ProductList) -> [MerchantProduct] {
        list.products.filter { $0.isOnSale && $0.bundleID == BundleID(configuration.bundleIdentifier) }
    }
}
