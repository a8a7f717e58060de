import Foundation
import StoreWire

/// The app's permission to use the customer's music library.
public enum SKCloudServiceAuthorizationStatus: Int, Sendable {
    /// The customer has not decided.
    case notDetermined = 0
    /// The customer denied access.
    case denied = 1
    /// Access is restricted on this device; the customer cannot grant it.
    case restricted = 2
    /// The customer granted access.
    case authorized = 3
}

/// The capabilities of the customer's music subscription.
public struct SKCloudServiceCapability: OptionSet, Sendable, Hashable {
    /// The capabilities as bits.
    public let rawValue: UInt

    /// Creates a set of capabilities from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The device can play songs of the catalog.
    public static let musicCatalogPlayback = SKCloudServiceCapability(rawValue: 1)
    /// The customer can subscribe.
    public static let musicCatalogSubscriptionEligible = SKCloudServiceCapability(rawValue: 2)
    /// The app can add songs to the library.
    public static let addToCloudMusicLibrary = SKCloudServiceCapability(rawValue: 256)
}

// @unchecked: the class is open, as Apple's is, and its one property is constant.
/// Access to the customer's music library and storefront.
///
/// This store has no music library. The authorization is always ``SKCloudServiceAuthorizationStatus/restricted``, as on
/// a device where nobody can grant it, and requests about music fail with `cloudServicePermissionDenied`. Requests for
/// the storefront work. The controller calls handlers on the callback queue.
open class SKCloudServiceController: NSObject, @unchecked Sendable {
    private let fixedEngine: StoreKitEngine?

    /// Creates a controller for this device's account.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    private var engine: StoreKitEngine { fixedEngine ?? .shared }

    /// Always ``SKCloudServiceAuthorizationStatus/restricted``.
    open class func authorizationStatus() -> SKCloudServiceAuthorizationStatus { .restricted }

    /// Passes ``authorizationStatus()`` to the handler without asking the customer, who cannot grant restricted access.
    open class func requestAuthorization(_ handler: @escaping (SKCloudServiceAuthorizationStatus) -> Void) {
        let carried = Carried(object: handler)
        let status = authorizationStatus()
        StoreKitEngine.shared.callbackQueue.async { carried.object(status) }
    }

    /// Returns ``authorizationStatus()``.
    open class func requestAuthorization() async -> SKCloudServiceAuthorizationStatus { authorizationStatus() }

    /// Fails with `cloudServicePermissionDenied`.
    open func requestCapabilities(completionHandler: @escaping (SKCloudServiceCapability, (any Error)?) -> Void) {
        let carried = Carried(object: completionHandler)
        engine.callbackQueue.async { carried.object([], Self.denied) }
    }

    /// Always throws ``SKError`` `cloudServicePermissionDenied`.
    open func requestCapabilities() async throws -> SKCloudServiceCapability { throw Self.denied }

    /// The country of the account's storefront, as in ``SKStorefront/countryCode``: `USA`. Apple's StoreKit returns
    /// `us`.
    open func requestStorefrontCountryCode(completionHandler: @escaping (String?, (any Error)?) -> Void) {
        storefront(completionHandler, \.countryCode)
    }

    /// The country of the account's storefront.
    ///
    /// - Throws: ``SKError`` `cloudServiceNetworkConnectionFailed` when the store cannot be reached.
    open func requestStorefrontCountryCode() async throws -> String { try await engine.askStorefront().countryCode }

    /// Apple's number of the account's storefront: `143441`.
    open func requestStorefrontIdentifier(completionHandler: @escaping (String?, (any Error)?) -> Void) {
        storefront(completionHandler, \.identifier)
    }

    /// Apple's number of the account's storefront.
    ///
    /// - Throws: ``SKError`` `cloudServiceNetworkConnectionFailed` when the store cannot be reached.
    open func requestStorefrontIdentifier() async throws -> String { try await engine.askStorefront().identifier }

    /// Fails with `cloudServicePermissionDenied`.
    open func requestUserToken(
        forDeveloperToken developerToken: String, completionHandler: @escaping (String?, (any Error)?) -> Void
    ) { deny(completionHandler) }

    /// Always throws ``SKError`` `cloudServicePermissionDenied`.
    open func requestUserToken(forDeveloperToken developerToken: String) async throws -> String { throw Self.denied }

    /// The older name of a user token (iOS 10.3). Fails with `cloudServicePermissionDenied`.
    open func requestPersonalizationToken(
        forClientToken clientToken: String,
        withCompletionHandler completionHandler: @escaping (String?, (any Error)?) -> Void
    ) { deny(completionHandler) }

    /// Always throws ``SKError`` `cloudServicePermissionDenied`.
    open func requestPersonalizationToken(forClientToken clientToken: String) async throws -> String {
        throw Self.denied
    }

    private static var denied: SKError {
        PaymentFailure(.cloudServicePermissionDenied, "This store has no music library.").error
    }

    private func deny(_ completionHandler: @escaping (String?, (any Error)?) -> Void) {
        let carried = Carried(object: completionHandler)
        engine.callbackQueue.async { carried.object(nil, Self.denied) }
    }

    private func storefront(
        _ completionHandler: @escaping (String?, (any Error)?) -> Void,
        _ text: @escaping @Sendable (StorefrontDescription) -> String
    ) {
        let engine = engine
        let carried = Carried(object: completionHandler)
        Task {
            do {
                let answer = text(try await engine.askStorefront())
                engine.callbackQueue.async { carried.object(answer, nil) }
            } catch {
                engine.callbackQueue.async { carried.object(nil, error) }
            }
        }
    }
}

extension StoreKitEngine {
    /// Asks the store for the account's current storefront.
    fileprivate func askStorefront() async throws(SKError) -> StorefrontDescription {
        let failure = PaymentFailure(.cloudServiceNetworkConnectionFailed, PaymentFailure.unreachable.text).error
        guard let session else { throw failure }
        do throws(StoreFailure) {
            let request = ProductsRequest(bundleID: session.bundleID, productIDs: [], languages: session.languages)
            return try await session.ask(request).storefront
        } catch {
            throw failure
        }
    }
}

// Apple's names.
extension NSNotification.Name {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The capabilities of the music subscription have changed. Never posted by this module.
    public static let SKCloudServiceCapabilitiesDidChange = NSNotification.Name(
        "SKCloudServiceCapabilitiesDidChangeNotification")
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The country of the account's storefront has changed. Posted on the callback queue when the store reports it.
    public static let SKStorefrontCountryCodeDidChange = NSNotification.Name(
        "SKStorefrontCountryCodeDidChangeNotification")
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The account's storefront has changed. Posted on the callback queue when the store reports it.
    public static let SKStorefrontIdentifierDidChange = NSNotification.Name(
        "SKStorefrontIdentifierDidChangeNotification")
}
