import Foundation

/// The domain of StoreKit's errors (Apple, "SKErrorDomain").
// Apple's name.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let SKErrorDomain = "SKErrorDomain"

/// An error of StoreKit with Apple's codes.
///
/// It bridges to `NSError` with domain, code and user info, and an `NSError` of ``SKErrorDomain`` casts back:
/// `error as? SKError`, `catch SKError.paymentCancelled`.
public struct SKError: _BridgedStoredNSError {
    public let _nsError: NSError

    /// Wraps any `NSError`, as Apple's does: clients wrap whatever a restore failed with. A cast asks for the domain.
    public init(_nsError error: NSError) { _nsError = error }

    public static var _nsErrorDomain: String { SKErrorDomain }

    /// What went wrong; `unknown` for a number that is none of these, which a C enumeration would carry on.
    // Foundation's own traps then.
    public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }

    /// Apple's error codes (SKError.h of iOS 16.5).
    public enum Code: Int, _ErrorCodeProtocol, Sendable {
        public typealias _ErrorType = SKError

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
    }

    public static var errorDomain: String { SKErrorDomain }

    public static var unknown: Code { .unknown }
    public static var clientInvalid: Code { .clientInvalid }
    public static var paymentCancelled: Code { .paymentCancelled }
    public static var paymentInvalid: Code { .paymentInvalid }
    public static var paymentNotAllowed: Code { .paymentNotAllowed }
    public static var storeProductNotAvailable: Code { .storeProductNotAvailable }
    public static var cloudServicePermissionDenied: Code { .cloudServicePermissionDenied }
    public static var cloudServiceNetworkConnectionFailed: Code { .cloudServiceNetworkConnectionFailed }
    public static var cloudServiceRevoked: Code { .cloudServiceRevoked }
    public static var privacyAcknowledgementRequired: Code { .privacyAcknowledgementRequired }
    public static var unauthorizedRequestData: Code { .unauthorizedRequestData }
    public static var invalidOfferIdentifier: Code { .invalidOfferIdentifier }
    public static var invalidSignature: Code { .invalidSignature }
    public static var missingOfferParams: Code { .missingOfferParams }
    public static var invalidOfferPrice: Code { .invalidOfferPrice }
    public static var overlayCancelled: Code { .overlayCancelled }
    public static var overlayInvalidConfiguration: Code { .overlayInvalidConfiguration }
    public static var overlayTimeout: Code { .overlayTimeout }
    public static var ineligibleForOffer: Code { .ineligibleForOffer }
    public static var unsupportedPlatform: Code { .unsupportedPlatform }
    public static var overlayPresentedInBackgroundScene: Code { .overlayPresentedInBackgroundScene }
}

// Without Objective-C, a cast from a class to a value asks this conformance and no other; Foundation's errors have it too.
extension SKError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout SKError?) {
        result = source.domain == SKErrorDomain ? SKError(_nsError: source) : nil
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout SKError?) -> Bool {
        _forceBridgeFromObjectiveC(source, result: &result)
        return result != nil
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> SKError {
        var result: SKError?
        if let source { _forceBridgeFromObjectiveC(source, result: &result) }
        return result ?? SKError(.unknown)
    }
}
