import Foundation
import StoreWire

/// Whether the app may use the customer's music library.
public enum SKCloudServiceAuthorizationStatus: Int, Sendable {
    case notDetermined = 0
    case denied = 1
    case restricted = 2
    case authorized = 3
}

/// What the customer's music subscription allows.
public struct SKCloudServiceCapability: OptionSet, Sendable, Hashable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Plays the catalog's songs.
    public static let musicCatalogPlayback = SKCloudServiceCapability(rawValue: 1)
    /// May subscribe.
    public static let musicCatalogSubscriptionEligible = SKCloudServiceCapability(rawValue: 2)
    /// Adds songs to the library.
    public static let addToCloudMusicLibrary = SKCloudServiceCapability(rawValue: 256)
}

/// The customer's music library, which this store has none of: the access is ``SKCloudServiceAuthorizationStatus/restricted``,
/// as on a device where nobody can grant it, and what needs it fails with `cloudServicePermissionDenied`. The storefront
/// can be asked for. Handlers are called on the callback queue.
// @unchecked: the engine is Sendable, and nothing else is held.
open class SKCloudServiceController: NSObject, @unchecked Sendable {
    private let fixedEngine: StoreKitEngine?

    /// A controller for this device's account.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    private var engine: StoreKitEngine { fixedEngine ?? .shared }

    /// Restricted, always.
    open class func authorizationStatus() -> SKCloudServiceAuthorizationStatus { .restricted }

    /// Answers ``authorizationStatus()`` without asking anybody: a restricted access cannot be granted.
    open class func requestAuthorization(_ handler: @escaping (SKCloudServiceAuthorizationStatus) -> Void) {
        let carried = Carried(object: handler)
        let status = authorizationStatus()
        StoreKitEngine.shared.callbackQueue.async { carried.object(status) }
    }

    /// Answers ``authorizationStatus()``.
    open class func requestAuthorization() async -> SKCloudServiceAuthorizationStatus { authorizationStatus() }

    /// Fails with `cloudServicePermissionDenied`.
    open func requestCapabilities(completionHandler: @escaping (SKCloudServiceCapability, (any Error)?) -> Void) {
        let carried = Carried(object: completionHandler)
        engine.callbackQueue.async { carried.object([], Self.denied) }
    }

    /// Throws `cloudServicePermissionDenied`.
    open func requestCapabilities() async throws -> SKCloudServiceCapability { throw Self.denied }

    /// The country of the account's storefront, as ``SKStorefront/countryCode`` has it: `USA`, where Apple's says `us`.
    open func requestStorefrontCountryCode(completionHandler: @escaping (String?, (any Error)?) -> Void) {
        storefront(completionHandler, \.countryCode)
    }

    /// The country of the account's storefront.
    ///
    /// - Throws: ``SKError`` `cloudServiceNetworkConnectionFailed` when the store cannot be asked.
    open func requestStorefrontCountryCode() async throws -> String { try await engine.askStorefront().countryCode }

    /// Apple's number of the account's storefront: `143441`.
    open func requestStorefrontIdentifier(completionHandler: @escaping (String?, (any Error)?) -> Void) {
        storefront(completionHandler, \.identifier)
    }

    /// Apple's number of the account's storefront.
    ///
    /// - Throws: ``SKError`` `cloudServiceNetworkConnectionFailed` when the store cannot be asked.
    open func requestStorefrontIdentifier() async throws -> String { try await engine.askStorefront().identifier }

    /// Fails with `cloudServicePermissionDenied`.
    open func requestUserToken(
        forDeveloperToken developerToken: String, completionHandler: @escaping (String?, (any Error)?) -> Void
    ) { deny(completionHandler) }

    /// Throws `cloudServicePermissionDenied`.
    open func requestUserToken(forDeveloperToken developerToken: String) async throws -> String { throw Self.denied }

    /// The older name of a user token (iOS 10.3). Fails with `cloudServicePermissionDenied`.
    open func requestPersonalizationToken(
        forClientToken clientToken: String,
        withCompletionHandler completionHandler: @escaping (String?, (any Error)?) -> Void
    ) { deny(completionHandler) }

    /// Throws `cloudServicePermissionDenied`.
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
    /// The account's storefront as the store says it now.
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
    /// What the music subscription allows has changed. Never posted here.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let SKCloudServiceCapabilitiesDidChange = NSNotification.Name(
        "SKCloudServiceCapabilitiesDidChangeNotification")
    /// The account shops in another country's store. Posted on the callback queue, when the store says so.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let SKStorefrontCountryCodeDidChange = NSNotification.Name(
        "SKStorefrontCountryCodeDidChangeNotification")
    /// The account shops in another storefront. Posted on the callback queue, when the store says so.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let SKStorefrontIdentifierDidChange = NSNotification.Name(
        "SKStorefrontIdentifierDidChangeNotification")
}
