import StoreKit
import Testing

/// The least that Apple asks of an observer.
private final class SmallObserver: NSObject, SKPaymentTransactionObserver {
    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {}
}

/// An observer with every method.
private final class WholeObserver: NSObject, SKPaymentTransactionObserver {
    var told: [String] = []

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        told.append("updated \(transactions.count)")
    }
    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        told.append("removed \(transactions.count)")
    }
    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        told.append("restore failed \((error as NSError).code)")
    }
    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { told.append("restored") }
    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        told.append("downloads \(downloads.map(\.state))")
    }
    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool { true }
    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) { told.append("storefront") }
    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) { told.append("revoked \(productIdentifiers)") }
}

/// A delegate that wants nothing but the product page's.
private final class SmallDelegate: NSObject, SKRequestDelegate, SKStoreProductViewControllerDelegate {}

@Suite("The API: observers, enumerations and errors", .timeLimit(.minutes(1)))
struct SurfaceObserverTests {
    @Test func `optional methods have defaults, and an observer's own are called through the protocol`() {
        let queue = SKPaymentQueue()
        func tell(_ observer: any SKPaymentTransactionObserver) -> Bool {
            observer.paymentQueue(queue, updatedTransactions: [SKPaymentTransaction()])
            observer.paymentQueue(queue, removedTransactions: [])
            observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: SKError(.paymentCancelled))
            observer.paymentQueueRestoreCompletedTransactionsFinished(queue)
            observer.paymentQueue(queue, updatedDownloads: [SKDownload()])
            observer.paymentQueueDidChangeStorefront(queue)
            observer.paymentQueue(queue, didRevokeEntitlementsForProductIdentifiers: ["a"])
            return observer.paymentQueue(queue, shouldAddStorePayment: SKPayment(), for: SKProduct())
        }
        let whole = WholeObserver()
        #expect(tell(whole))
        #expect(
            whole.told == [
                "updated 1", "removed 0", "restore failed 2", "restored",
                "downloads [StoreKit.SKDownloadState.waiting]",
                "storefront", "revoked [\"a\"]",
            ])
        // Nothing is bought that the app did not ask for.
        #expect(!tell(SmallObserver()))
        let small = SmallDelegate()
        small.requestDidFinish(SKRequest())
        small.request(SKRequest(), didFailWithError: SKError(.unknown))
        small.productViewControllerDidFinish(SKStoreProductViewController())
    }

    @Test func `enumerations are switched over with and without an unknown default`() {
        func name(_ state: SKDownloadState) -> String {
            switch state {
            case .waiting: "waiting"
            case .active: "active"
            case .paused: "paused"
            case .finished: "finished"
            case .failed: "failed"
            case .cancelled: "cancelled"
            }
        }
        func show(_ visibility: SKProductStorePromotionVisibility) -> Int {
            switch visibility {
            case .default: return 0
            case .show: return 1
            case .hide: return 2
            @unknown default: return 3
            }
        }
        func isKnown(_ status: SKCloudServiceAuthorizationStatus) -> Bool {
            switch status {
            case .notDetermined, .denied, .restricted, .authorized: return true
            @unknown default: return false
            }
        }
        func days(_ unit: SKProduct.PeriodUnit) -> Int {
            switch unit {
            case .day: return 1
            case .week: return 7
            case .month: return 30
            case .year: return 365
            @unknown default: return 0
            }
        }
        func isFinal(_ state: SKPaymentTransactionState) -> Bool {
            switch state {
            case .purchased, .failed, .restored: true
            case .purchasing, .deferred: false
            }
        }
        #expect((0...6).compactMap(SKDownloadState.init).map(name).last == "cancelled")
        #expect((0...3).compactMap(SKProductStorePromotionVisibility.init).map(show) == [0, 1, 2])
        #expect((0...4).compactMap(SKCloudServiceAuthorizationStatus.init).filter(isKnown).count == 4)
        #expect((0...4).compactMap(SKProduct.PeriodUnit.init).map(days) == [1, 7, 30, 365])
        #expect((0...5).compactMap(SKPaymentTransactionState.init).map(isFinal) == [false, true, true, true, false])
        let types: [SKProductDiscount.`Type`] = [.introductory, .subscription]
        #expect(types.map(\.rawValue) == [0, 1])
        let capabilities: SKCloudServiceCapability = [.musicCatalogPlayback, .musicCatalogSubscriptionEligible]
        #expect(capabilities.rawValue == 3 && SKCloudServiceCapability.addToCloudMusicLibrary.rawValue == 256)
    }

    /// Every code by each of the ways in which apps match it.
    @Test(arguments: 0...20) func `every error code can be thrown, caught, compared and bridged`(raw: Int) throws {
        let code = try #require(SKError.Code(rawValue: raw))
        let error: any Error = SKError(code, userInfo: [NSLocalizedDescriptionKey: "text \(raw)"])
        #expect((error as NSError).domain == SKErrorDomain && (error as NSError).code == raw)
        #expect((error as? SKError)?.code == code && (error as? SKError)?.errorCode == raw)
        #expect(error.localizedDescription == "text \(raw)" && code ~= error)
        do { throw error } catch let caught as SKError where caught.code == code {
            #expect(caught.userInfo[NSLocalizedDescriptionKey] as? String == "text \(raw)")
        }
        #expect(SKError.errorDomain == "SKErrorDomain")
    }

    @Test func `the codes' short names are equal to the codes`() {
        let short: [SKError.Code] = [
            SKError.unknown, SKError.clientInvalid, SKError.paymentCancelled, SKError.paymentInvalid,
            SKError.paymentNotAllowed, SKError.storeProductNotAvailable, SKError.cloudServicePermissionDenied,
            SKError.cloudServiceNetworkConnectionFailed, SKError.cloudServiceRevoked,
            SKError.privacyAcknowledgementRequired, SKError.unauthorizedRequestData, SKError.invalidOfferIdentifier,
            SKError.invalidSignature, SKError.missingOfferParams, SKError.invalidOfferPrice, SKError.overlayCancelled,
            SKError.overlayInvalidConfiguration, SKError.overlayTimeout, SKError.ineligibleForOffer,
            SKError.unsupportedPlatform, SKError.overlayPresentedInBackgroundScene,
        ]
        #expect(short.map(\.rawValue) == Array(0...20))
    }

    @Test func `constants are distinct`() {
        let keys = [
            SKStoreProductParameterITunesItemIdentifier, SKStoreProductParameterProductIdentifier,
            SKStoreProductParameterCustomProductPageIdentifier, SKStoreProductParameterAffiliateToken,
            SKStoreProductParameterCampaignToken, SKStoreProductParameterProviderToken,
            SKStoreProductParameterAdvertisingPartnerToken,
        ]
        #expect(Set(keys).count == keys.count)
        let names: Set<Notification.Name> = [
            .SKCloudServiceCapabilitiesDidChange, .SKStorefrontCountryCodeDidChange, .SKStorefrontIdentifierDidChange,
        ]
        #expect(names.count == 3)
        #expect(SKDownloadTimeRemainingUnknown == -1)
    }
}
