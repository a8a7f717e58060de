/// Apple's original StoreKit API, symbol for symbol, as Swift sees it (headers of the SDKs from iOS 9.3 to 16.5, and
/// Apple's documentation). What is indented is a member of the type above it. After a bar stands what
/// `Documentation/StoreKitCoverage.md` says beside "works":
///
/// - `absent: …`: not declared, for that reason;
/// - `note: …`: works, with that difference.
///
/// What is unavailable says so in its own `@available`.
enum StoreKitSymbols {
    static let text = """
        let SKErrorDomain
        struct SKError: _BridgedStoredNSError
            static var errorDomain: String
            var code: Code
        enum SKError.Code: Int
            case unknown = 0
            case clientInvalid = 1
            case paymentCancelled = 2
            case paymentInvalid = 3
            case paymentNotAllowed = 4
            case storeProductNotAvailable = 5
            case cloudServicePermissionDenied = 6
            case cloudServiceNetworkConnectionFailed = 7
            case cloudServiceRevoked = 8
            case privacyAcknowledgementRequired = 9
            case unauthorizedRequestData = 10
            case invalidOfferIdentifier = 11
            case invalidSignature = 12
            case missingOfferParams = 13
            case invalidOfferPrice = 14
            case overlayCancelled = 15
            case overlayInvalidConfiguration = 16
            case overlayTimeout = 17
            case ineligibleForOffer = 18
            case unsupportedPlatform = 19
            case overlayPresentedInBackgroundScene = 20
            case paymentMethodBindingConfigurationRequired | absent: its raw value is not known
        class SKPaymentQueue: NSObject
            init()
            static func default() -> SKPaymentQueue
            static func canMakePayments() -> Bool
            var delegate: (any SKPaymentQueueDelegate)?
            var storefront: SKStorefront?
            func add(_ payment: SKPayment)
            func add(_ observer: any SKPaymentTransactionObserver)
            func remove(_ observer: any SKPaymentTransactionObserver)
            func restoreCompletedTransactions()
            func restoreCompletedTransactions(withApplicationUsername username: String?)
            func finishTransaction(_ transaction: SKPaymentTransaction)
            func start(_ downloads: [SKDownload])
            func pause(_ downloads: [SKDownload])
            func resume(_ downloads: [SKDownload])
            func cancel(_ downloads: [SKDownload])
            var transactions: [SKPaymentTransaction]
            var transactionObservers: [any SKPaymentTransactionObserver]
            func showPriceConsentIfNeeded()
            func presentCodeRedemptionSheet()
        protocol SKPaymentQueueDelegate: NSObjectProtocol
            func paymentQueue(_ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction, in newStorefront: SKStorefront) -> Bool
            func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
        protocol SKPaymentTransactionObserver: NSObjectProtocol
            func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])
            func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction])
            func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error)
            func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue)
            func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload])
            func paymentQueue(_ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct) -> Bool
            func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue)
            func paymentQueue(_ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String])
        enum SKPaymentTransactionState: Int
            case purchasing = 0
            case purchased = 1
            case failed = 2
            case restored = 3
            case deferred = 4
        class SKPaymentTransaction: NSObject
            init()
            var error: (any Error)?
            var original: SKPaymentTransaction?
            var payment: SKPayment
            var downloads: [SKDownload]
            var transactionDate: Date?
            var transactionIdentifier: String?
            var transactionReceipt: Data?
            var transactionState: SKPaymentTransactionState
        class SKPayment: NSObject
            init()
            init(product: SKProduct)
            static func payment(withProductIdentifier identifier: String) -> SKPayment
            var productIdentifier: String
            var requestData: Data?
            var quantity: Int
            var applicationUsername: String?
            var simulatesAskToBuyInSandbox: Bool
            var paymentDiscount: SKPaymentDiscount?
            func copy(with zone: NSZone?) -> Any
            func mutableCopy(with zone: NSZone?) -> Any
        class SKMutablePayment: SKPayment
            var productIdentifier: String
            var requestData: Data?
            var quantity: Int
            var applicationUsername: String?
            var simulatesAskToBuyInSandbox: Bool
            var paymentDiscount: SKPaymentDiscount?
            static func payment(withProductIdentifier identifier: String) -> SKPayment
        class SKPaymentDiscount: NSObject
            init()
            init(identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber)
            var identifier: String
            var keyIdentifier: String
            var nonce: UUID
            var signature: String
            var timestamp: NSNumber
        class SKProduct: NSObject
            init()
            var localizedDescription: String
            var localizedTitle: String
            var price: NSDecimalNumber
            var priceLocale: Locale
            var productIdentifier: String
            var isDownloadable: Bool
            var downloadable: Bool
            var downloadContentLengths: [NSNumber]
            var contentLengths: [NSNumber]
            var downloadContentVersion: String
            var contentVersion: String
            var isFamilyShareable: Bool
            var subscriptionPeriod: SKProductSubscriptionPeriod?
            var introductoryPrice: SKProductDiscount?
            var subscriptionGroupIdentifier: String?
            var discounts: [SKProductDiscount]
        enum SKProduct.PeriodUnit: UInt
            case day = 0
            case week = 1
            case month = 2
            case year = 3
        class SKProductSubscriptionPeriod: NSObject
            init()
            var numberOfUnits: Int
            var unit: SKProduct.PeriodUnit
        class SKProductDiscount: NSObject
            init()
            var price: NSDecimalNumber
            var priceLocale: Locale
            var identifier: String?
            var subscriptionPeriod: SKProductSubscriptionPeriod
            var numberOfPeriods: Int
            var paymentMode: PaymentMode
            var type: SKProductDiscount.Type
        enum SKProductDiscount.PaymentMode: UInt
            case payAsYouGo = 0
            case payUpFront = 1
            case freeTrial = 2
        enum SKProductDiscount.Type: UInt
            case introductory = 0
            case subscription = 1
        class SKRequest: NSObject
            init()
            var delegate: (any SKRequestDelegate)?
            func start()
            func cancel()
        protocol SKRequestDelegate: NSObjectProtocol
            func requestDidFinish(_ request: SKRequest)
            func request(_ request: SKRequest, didFailWithError error: any Error)
        class SKProductsRequest: SKRequest
            init()
            init(productIdentifiers: Set<String>)
            var delegate: (any SKProductsRequestDelegate)?
        protocol SKProductsRequestDelegate: SKRequestDelegate
            func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse)
        class SKProductsResponse: NSObject
            init()
            var products: [SKProduct]
            var invalidProductIdentifiers: [String]
        class SKReceiptRefreshRequest: SKRequest
            init()
            init(receiptProperties properties: [String: Any]?)
            var receiptProperties: [String: Any]?
        let SKReceiptPropertyIsExpired
        let SKReceiptPropertyIsRevoked
        let SKReceiptPropertyIsVolumePurchase
        func SKTerminateForInvalidReceipt()
        class SKStorefront: NSObject
            init()
            var countryCode: String
            var identifier: String
        enum SKDownloadState: Int
            case waiting = 0
            case active = 1
            case paused = 2
            case finished = 3
            case failed = 4
            case cancelled = 5
        let SKDownloadTimeRemainingUnknown: TimeInterval
        class SKDownload: NSObject
            init()
            var state: SKDownloadState
            var downloadState: SKDownloadState
            var contentLength: Int64
            var expectedContentLength: Int64
            var contentIdentifier: String
            var contentVersion: String
            var contentURL: URL?
            var error: (any Error)?
            var progress: Float
            var timeRemaining: TimeInterval
            var transaction: SKPaymentTransaction
            static func contentURL(forProductID productID: String) -> URL?
            static func deleteContent(forProductID productID: String)
        class SKStoreProductViewController: NSObject
            init()
            var delegate: (any SKStoreProductViewControllerDelegate)?
            func loadProduct(withParameters parameters: [String: Any], completionBlock block: ((Bool, (any Error)?) -> Void)?) | note: present() shows the page, through the configuration's StorePresenter
            func loadProduct(withParameters parameters: [String: Any]) async throws -> Bool | note: present() shows the page, through the configuration's StorePresenter
            func loadProduct(withParameters parameters: [String: Any], impression: SKAdImpression, completionBlock block: ((Bool, (any Error)?) -> Void)?)
        protocol SKStoreProductViewControllerDelegate: NSObjectProtocol
            func productViewControllerDidFinish(_ viewController: SKStoreProductViewController)
        let SKStoreProductParameterITunesItemIdentifier
        let SKStoreProductParameterProductIdentifier
        let SKStoreProductParameterCustomProductPageIdentifier | note: taken and not used
        let SKStoreProductParameterAffiliateToken | note: counted for items
        let SKStoreProductParameterCampaignToken | note: counted for items
        let SKStoreProductParameterProviderToken | note: counted for items
        let SKStoreProductParameterAdvertisingPartnerToken | note: taken and not used
        class SKStoreReviewController: NSObject
            static func requestReview() | note: asks through the configuration's StorePresenter and sends the stars to the store
            static func requestReview(in windowScene: AnyObject)
        enum SKProductStorePromotionVisibility: Int
            case default = 0
            case show = 1
            case hide = 2
        class SKProductStorePromotionController: NSObject
            init()
            static func default() -> SKProductStorePromotionController
            func fetchStorePromotionVisibility(forProduct product: SKProduct, completionHandler: ((SKProductStorePromotionVisibility, (any Error)?) -> Void)?)
            func promotionVisibility(for product: SKProduct) async throws -> SKProductStorePromotionVisibility
            func update(storePromotionVisibility promotionVisibility: SKProductStorePromotionVisibility, for product: SKProduct, completionHandler: (((any Error)?) -> Void)?)
            func update(promotionVisibility: SKProductStorePromotionVisibility, for product: SKProduct) async throws
            func fetchStorePromotionOrder(completionHandler: (([SKProduct], (any Error)?) -> Void)?)
            func promotionOrder() async throws -> [SKProduct]
            func update(storePromotionOrder promotionOrder: [SKProduct], completionHandler: (((any Error)?) -> Void)?)
            func update(promotionOrder: [SKProduct]) async throws
        enum SKCloudServiceAuthorizationStatus: Int
            case notDetermined = 0
            case denied = 1
            case restricted = 2
            case authorized = 3
        struct SKCloudServiceCapability: OptionSet
            let rawValue: UInt
            init(rawValue: UInt)
            static let musicCatalogPlayback
            static let musicCatalogSubscriptionEligible
            static let addToCloudMusicLibrary
        class SKCloudServiceController: NSObject
            init()
            static func authorizationStatus() -> SKCloudServiceAuthorizationStatus | note: always restricted
            static func requestAuthorization(_ handler: @escaping (SKCloudServiceAuthorizationStatus) -> Void) | note: always restricted
            static func requestAuthorization() async -> SKCloudServiceAuthorizationStatus | note: always restricted
            func requestCapabilities(completionHandler: @escaping (SKCloudServiceCapability, (any Error)?) -> Void) | note: always cloudServicePermissionDenied
            func requestCapabilities() async throws -> SKCloudServiceCapability | note: always cloudServicePermissionDenied
            func requestStorefrontCountryCode(completionHandler: @escaping (String?, (any Error)?) -> Void) | note: three letters, where Apple's has two
            func requestStorefrontCountryCode() async throws -> String | note: three letters, where Apple's has two
            func requestStorefrontIdentifier(completionHandler: @escaping (String?, (any Error)?) -> Void)
            func requestStorefrontIdentifier() async throws -> String
            func requestUserToken(forDeveloperToken developerToken: String, completionHandler: @escaping (String?, (any Error)?) -> Void) | note: always cloudServicePermissionDenied
            func requestUserToken(forDeveloperToken developerToken: String) async throws -> String | note: always cloudServicePermissionDenied
            func requestPersonalizationToken(forClientToken clientToken: String, withCompletionHandler completionHandler: @escaping (String?, (any Error)?) -> Void) | note: always cloudServicePermissionDenied
            func requestPersonalizationToken(forClientToken clientToken: String) async throws -> String | note: always cloudServicePermissionDenied
        extension NSNotification.Name
            static let SKCloudServiceCapabilitiesDidChange | note: never posted
            static let SKStorefrontCountryCodeDidChange
            static let SKStorefrontIdentifierDidChange
        class SKCloudServiceSetupViewController: NSObject
            var delegate: (any SKCloudServiceSetupViewControllerDelegate)? | absent: its type is unavailable
            func load(options: [SKCloudServiceSetupOptionsKey: Any], completionHandler: ((Bool, (any Error)?) -> Void)?) | absent: its type is unavailable
        protocol SKCloudServiceSetupViewControllerDelegate: NSObjectProtocol
            func cloudServiceSetupViewControllerDidDismiss(_ cloudServiceSetupViewController: SKCloudServiceSetupViewController) | absent: its type is unavailable
        struct SKCloudServiceSetupOptionsKey: Hashable
            static let action | absent: its type is unavailable
            static let iTunesItemIdentifier | absent: its type is unavailable
            static let affiliateToken | absent: its type is unavailable
            static let campaignToken | absent: its type is unavailable
            static let messageIdentifier | absent: its type is unavailable
        struct SKCloudServiceSetupAction: Hashable
            static let subscribe | absent: its type is unavailable
        class SKOverlay: NSObject
            init(configuration: SKOverlay.Configuration) | absent: its type is unavailable
            var delegate: (any SKOverlayDelegate)? | absent: its type is unavailable
            var configuration: SKOverlay.Configuration | absent: its type is unavailable
            func present(in scene: UIWindowScene) | absent: its type is unavailable
            static func dismiss(in scene: UIWindowScene) | absent: its type is unavailable
        enum SKOverlay.Position: Int
            case bottom = 0
            case bottomRaised = 1
        class SKOverlay.Configuration: NSObject
        class SKOverlay.AppConfiguration: NSObject
            init(appIdentifier: String, position: SKOverlay.Position) | absent: its type is unavailable
        class SKOverlay.AppClipConfiguration: NSObject
            init(position: SKOverlay.Position) | absent: its type is unavailable
        class SKOverlay.TransitionContext: NSObject
        protocol SKOverlayDelegate: NSObjectProtocol
            func storeOverlayDidFailToLoad(_ overlay: SKOverlay, error: any Error) | absent: its type is unavailable
            func storeOverlayWillStartPresentation(_ overlay: SKOverlay, transitionContext: SKOverlay.TransitionContext) | absent: its type is unavailable
            func storeOverlayDidFinishPresentation(_ overlay: SKOverlay, transitionContext: SKOverlay.TransitionContext) | absent: its type is unavailable
            func storeOverlayWillStartDismissal(_ overlay: SKOverlay, transitionContext: SKOverlay.TransitionContext) | absent: its type is unavailable
            func storeOverlayDidFinishDismissal(_ overlay: SKOverlay, transitionContext: SKOverlay.TransitionContext) | absent: its type is unavailable
        class SKAdNetwork: NSObject
            static func registerAppForAdNetworkAttribution() | absent: its type is unavailable
            static func updateConversionValue(_ conversionValue: Int) | absent: its type is unavailable
            static func updatePostbackConversionValue(_ conversionValue: Int, completionHandler: (((any Error)?) -> Void)?) | absent: its type is unavailable
            static func updatePostbackConversionValue(_ fineValue: Int, coarseValue: SKAdNetwork.CoarseConversionValue, completionHandler: (((any Error)?) -> Void)?) | absent: its type is unavailable
            static func updatePostbackConversionValue(_ fineValue: Int, coarseValue: SKAdNetwork.CoarseConversionValue, lockWindow: Bool, completionHandler: (((any Error)?) -> Void)?) | absent: its type is unavailable
            static func startImpression(_ impression: SKAdImpression, completionHandler: (((any Error)?) -> Void)?) | absent: its type is unavailable
            static func endImpression(_ impression: SKAdImpression, completionHandler: (((any Error)?) -> Void)?) | absent: its type is unavailable
        struct SKAdNetwork.CoarseConversionValue: Hashable
        class SKAdImpression: NSObject
        struct SKANError: Error
        let SKStoreProductParameterAdNetworkAttributionSignature | absent: there is no advertising network
        let SKStoreProductParameterAdNetworkCampaignIdentifier | absent: there is no advertising network
        let SKStoreProductParameterAdNetworkSourceIdentifier | absent: there is no advertising network
        let SKStoreProductParameterAdNetworkIdentifier | absent: there is no advertising network
        let SKStoreProductParameterAdNetworkNonce | absent: there is no advertising network
        let SKStoreProductParameterAdNetworkTimestamp | absent: there is no advertising network
        let SKStoreProductParameterAdNetworkSourceAppStoreIdentifier | absent: there is no advertising network
        let SKStoreProductParameterAdNetworkVersion | absent: there is no advertising network
        class SKArcadeService: NSObject
            static func registerArcadeApp(withRandomFromLib: Data, randomFromLibLength: UInt32, resultHandler: @escaping (Data?, UInt32, Data?, UInt32, (any Error)?) -> Void) | absent: its type is unavailable
            static func arcadeSubscriptionStatus(withNonce: UInt64, resultHandler: @escaping (Data?, UInt32, Data?, UInt32, (any Error)?) -> Void) | absent: its type is unavailable
            static func repairArcadeApp() | absent: its type is unavailable
        """

    /// One symbol of Apple's.
    struct Symbol: Equatable {
        enum Remark: Equatable {
            case none
            case absent(String)
            case note(String)
        }

        /// The type that it is a member of; nil at the top level.
        var container: String?
        /// As the list has it.
        var declaration: String
        var remark: Remark

        /// How ``PublicDeclarations`` writes it.
        var canonical: String { PublicDeclarations.canonical(declaration) }

        /// The type that it declares, or whose extension it begins.
        var type: String? {
            canonical.wholeMatch(of: /(?:class|struct|enum|protocol|extension) ([A-Za-z.]+)(?:: .*)?/)
                .map { String($0.1) }
        }
    }

    static let all: [Symbol] = parse(text)

    static func parse(_ text: String) -> [Symbol] {
        var type: String?
        return text.split(separator: "\n").map { line in
            let parts = line.split(separator: " | ", maxSplits: 1)
            let isMember = line.hasPrefix("    ")
            let remark: Symbol.Remark =
                switch parts.count == 2 ? parts[1].split(separator: ": ", maxSplits: 1).map(String.init) : [] {
                case let words where words.count == 2 && words[0] == "absent": .absent(words[1])
                case let words where words.count == 2 && words[0] == "note": .note(words[1])
                default: .none
                }
            let declaration = String(parts[0].drop { $0 == " " })
            let symbol = Symbol(container: isMember ? type : nil, declaration: declaration, remark: remark)
            if !isMember { type = symbol.type }
            return symbol
        }
    }
}
