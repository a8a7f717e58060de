import Foundation

// Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
/// The error domain of StoreKit errors (Apple, "SKErrorDomain").
public let SKErrorDomain = "SKErrorDomain"

/// A StoreKit error with one of Apple's codes.
///
/// The error bridges to `NSError` with its domain, code and user info. An `NSError` of ``SKErrorDomain`` casts back:
/// `error as? SKError`, `catch SKError.paymentCancelled`.
public struct SKError: _BridgedStoredNSError {
    /// The bridged `NSError`, with domain, code and user info.
    public let _nsError: NSError

    /// Wraps any `NSError`, as Apple's initialiser does, because clients wrap every error of a failed restore. Only a
    /// cast checks the domain.
    public init(_nsError error: NSError) { _nsError = error }

    /// ``SKErrorDomain``, for Foundation's bridging.
    public static var _nsErrorDomain: String { SKErrorDomain }

    // Foundation's own property traps on a number without a case.
    /// The reason for the failure. A number without a case, which a C enumeration would keep, becomes `unknown`.
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

    /// Apple's error codes (SKError.h of iOS 16.5).
    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        /// The error type that these codes belong to, for Foundation's bridging.
        public typealias _ErrorType = SKError

        /// Any failure without a code of its own, such as an unreachable store.
        case unknown = 0
        /// The app is not allowed to make the request.
        case clientInvalid = 1
        /// The customer cancelled the payment.
        case paymentCancelled = 2
        /// The store does not recognize a value of the payment, such as its quantity.
        case paymentInvalid = 3
        /// The customer is not allowed to buy on this device.
        case paymentNotAllowed = 4
        /// The product is not for sale in the customer's storefront.
        case storeProductNotAvailable = 5
        /// The app has no access to the cloud service.
        case cloudServicePermissionDenied = 6
        /// The device cannot reach the cloud service.
        case cloudServiceNetworkConnectionFailed = 7
        /// The customer withdrew the app's access to the cloud service.
        case cloudServiceRevoked = 8
        /// The customer has not accepted Apple's privacy policy yet.
        case privacyAcknowledgementRequired = 9
        /// The payment carries ``SKPayment/requestData``, which Apple reserves.
        case unauthorizedRequestData = 10
        /// The catalog has no active offer with this identifier.
        case invalidOfferIdentifier = 11
        /// The signature of the promotional offer is not valid.
        case invalidSignature = 12
        /// The promotional offer lacks a parameter.
        case missingOfferParams = 13
        /// The offer's price is no longer valid.
        case invalidOfferPrice = 14
        /// The customer or the app dismissed the overlay.
        case overlayCancelled = 15
        /// The overlay's configuration is not valid.
        case overlayInvalidConfiguration = 16
        /// The overlay took too long to load.
        case overlayTimeout = 17
        /// The customer is not eligible for the offer.
        case ineligibleForOffer = 18
        /// This platform does not support the request.
        case unsupportedPlatform = 19
        /// The app tried to show the overlay in a scene that is in the background.
        case overlayPresentedInBackgroundScene = 20
    }

    /// ``SKErrorDomain``.
    public static var errorDomain: String { SKErrorDomain }

    /// ``Code/unknown``, so that `catch SKError.unknown` works.
    public static var unknown: Code { .unknown }
    /// ``Code/clientInvalid``, so that `catch SKError.clientInvalid` works.
    public static var clientInvalid: Code { .clientInvalid }
    /// ``Code/paymentCancelled``, so that `catch SKError.paymentCancelled` works.
    public static var paymentCancelled: Code { .paymentCancelled }
    /// ``Code/paymentInvalid``, so that `catch SKError.paymentInvalid` works.
    public static var paymentInvalid: Code { .paymentInvalid }
    /// ``Code/paymentNotAllowed``, so that `catch SKError.paymentNotAllowed` works.
    public static var paymentNotAllowed: Code { .paymentNotAllowed }
    /// ``Code/storeProductNotAvailable``, so that `catch SKError.storeProductNotAvailable` works.
    public static var storeProductNotAvailable: Code { .storeProductNotAvailable }
    /// ``Code/cloudServicePermissionDenied``, so that `catch SKError.cloudServicePermissionDenied` works.
    public static var cloudServicePermissionDenied: Code { .cloudServicePermissionDenied }
    /// ``Code/cloudServiceNetworkConnectionFailed``, so that `catch SKError.cloudServiceNetworkConnectionFailed` works.
    public static var cloudServiceNetworkConnectionFailed: Code { .cloudServiceNetworkConnectionFailed }
    /// ``Code/cloudServiceRevoked``, so that `catch SKError.cloudServiceRevoked` works.
    public static var cloudServiceRevoked: Code { .cloudServiceRevoked }
    /// ``Code/privacyAcknowledgementRequired``, so that `catch SKError.privacyAcknowledgementRequired` works.
    public static var privacyAcknowledgementRequired: Code { .privacyAcknowledgementRequired }
    /// ``Code/unauthorizedRequestData``, so that `catch SKError.unauthorizedRequestData` works.
    public static var unauthorizedRequestData: Code { .unauthorizedRequestData }
    /// ``Code/invalidOfferIdentifier``, so that `catch SKError.invalidOfferIdentifier` works.
    public static var invalidOfferIdentifier: Code { .invalidOfferIdentifier }
    /// ``Code/invalidSignature``, so that `catch SKError.invalidSignature` works.
    public static var invalidSignature: Code { .invalidSignature }
    /// ``Code/missingOfferParams``, so that `catch SKError.missingOfferParams` works.
    public static var missingOfferParams: Code { .missingOfferParams }
    /// ``Code/invalidOfferPrice``, so that `catch SKError.invalidOfferPrice` works.
    public static var invalidOfferPrice: Code { .invalidOfferPrice }
    /// ``Code/overlayCancelled``, so that `catch SKError.overlayCancelled` works.
    public static var overlayCancelled: Code { .overlayCancelled }
    /// ``Code/overlayInvalidConfiguration``, so that `catch SKError.overlayInvalidConfiguration` works.
    public static var overlayInvalidConfiguration: Code { .overlayInvalidConfiguration }
    /// ``Code/overlayTimeout``, so that `catch SKError.overlayTimeout` works.
    public static var overlayTimeout: Code { .overlayTimeout }
    /// ``Code/ineligibleForOffer``, so that `catch SKError.ineligibleForOffer` works.
    public static var ineligibleForOffer: Code { .ineligibleForOffer }
    /// ``Code/unsupportedPlatform``, so that `catch SKError.unsupportedPlatform` works.
    public static var unsupportedPlatform: Code { .unsupportedPlatform }
    /// ``Code/overlayPresentedInBackgroundScene``, so that `catch SKError.overlayPresentedInBackgroundScene` works.
    public static var overlayPresentedInBackgroundScene: Code { .overlayPresentedInBackgroundScene }
}

// Without Objective-C, a cast from a class to a value uses this conformance alone. Foundation's errors have it too.
extension SKError: _ObjectiveCBridgeable {
    /// The error as an `NSError`.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// Sets `result` to the error, or to nil when `source` has another domain than ``SKErrorDomain``.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout SKError?) {
        result = source.domain == SKErrorDomain ? SKError(_nsError: source) : nil
    }

    /// Sets `result` as ``_forceBridgeFromObjectiveC(_:result:)`` does.
    ///
    /// - Returns: whether `source` has the domain ``SKErrorDomain``.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout SKError?) -> Bool {
        _forceBridgeFromObjectiveC(source, result: &result)
        return result != nil
    }

    /// The error of `source`; `unknown` when `source` is nil or has another domain.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> SKError {
        var result: SKError?
        if let source { _forceBridgeFromObjectiveC(source, result: &result) }
        return result ?? SKError(.unknown)
    }
}
