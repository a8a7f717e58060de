import Foundation
import StoreWire

/// What the app is told and asked beside its transactions, on the callback queue as well.
extension PaymentQueueCallbacks {
    /// Whether the app lets a payment go on in another country's store; without a delegate it does.
    func shouldContinue(_ entry: PaymentQueueEntry, in storefront: StorefrontDescription) async -> Bool {
        await onCallbackQueue {
            guard let transaction = self.apply([entry]).first else { return true }
            return self.withDelegate { delegate, queue in
                delegate.paymentQueue(queue, shouldContinue: transaction, in: SKStorefront(storefront))
            } ?? true
        }
    }

    /// Whether the app lets the customer be asked about a price increase now; without a delegate it does.
    func shouldShowPriceConsent() async -> Bool {
        await onCallbackQueue {
            self.withDelegate { delegate, queue in delegate.paymentQueueShouldShowPriceConsent(queue) } ?? true
        }
    }

    func storefrontChanged() {
        callbackQueue.async { self.each { $0.paymentQueueDidChangeStorefront($1) } }
    }

    /// Tells that entitlements are gone. Calls `then` after every observer was told, and not when there is none: the
    /// store has to be asked again. Returns after that.
    func revoked(_ productIDs: [ProductID], then: @escaping @Sendable () -> Void) async {
        await onCallbackQueue {
            let identifiers = productIDs.map(\.rawValue)
            let isTold = self.each { $0.paymentQueue($1, didRevokeEntitlementsForProductIdentifiers: identifiers) }
            if isTold { then() }
        }
    }

    /// Whether an observer wants a payment that the customer began in the store to be added now. All are asked until one
    /// does.
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
