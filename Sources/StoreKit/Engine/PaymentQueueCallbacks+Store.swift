import Foundation
import StoreWire

/// The app's callbacks about the store, also on the callback queue.
extension PaymentQueueCallbacks {
    /// Asks the delegate whether a payment continues in another storefront. Without a delegate it does.
    func shouldContinue(_ entry: PaymentQueueEntry, in storefront: StorefrontDescription) async -> Bool {
        await onCallbackQueue {
            guard let transaction = self.apply([entry]).first else { return true }
            return self.withDelegate { delegate, queue in
                delegate.paymentQueue(queue, shouldContinue: transaction, in: SKStorefront(storefront))
            } ?? true
        }
    }

    /// Asks the delegate whether to ask the customer about a price increase now. Without a delegate the answer is yes.
    func shouldShowPriceConsent() async -> Bool {
        await onCallbackQueue {
            self.withDelegate { delegate, queue in delegate.paymentQueueShouldShowPriceConsent(queue) } ?? true
        }
    }

    func storefrontChanged() {
        callbackQueue.async { self.each { $0.paymentQueueDidChangeStorefront($1) } }
    }

    /// Reports revoked entitlements to all observers, then calls `then`, then returns. Without an observer it does not
    /// call `then`, so that the store's notice is fetched again.
    func revoked(_ productIDs: [ProductID], then: @escaping @Sendable () -> Void) async {
        await onCallbackQueue {
            let identifiers = productIDs.map(\.rawValue)
            let isTold = self.each { $0.paymentQueue($1, didRevokeEntitlementsForProductIdentifiers: identifiers) }
            if isTold { then() }
        }
    }

    /// Asks the observers, until one agrees, whether to add a payment that the customer began in the store.
    func shouldAdd(_ payment: PaymentValues, for product: ProductDescription) async -> Bool {
        await onCallbackQueue {
            let asked = SKPayment()
            asked.values = payment
            let shown = SKProduct(product)
            var isWanted = false
            self.each { observer, queue in
                guard !isWanted else { return }
                isWanted = observer.paymentQueue(queue, shouldAddStorePayment: asked, for: shown)
            }
            return isWanted
        }
    }

    func onCallbackQueue<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            callbackQueue.async { continuation.resume(returning: body()) }
        }
    }
}
