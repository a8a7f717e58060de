/// An error that the operator orders and the device gives to the app: one of StoreKit's by Apple's name, or one of
/// Apple's servers by its code.
public struct OrderedError: Codable, Sendable, Hashable {
    /// `SKErrorDomain` or `SSServerErrorDomain`.
    public var domain: String
    public var code: Int

    public init(domain: String, code: Int) {
        self.domain = domain
        self.code = code
    }

    /// Apple's domain of StoreKit's errors.
    public static let storeKitDomain = "SKErrorDomain"
    /// The domain of Apple's store servers, seen as the underlying error of `SKError.unknown`.
    public static let serverDomain = "SSServerErrorDomain"

    /// The codes that Apple's store servers are known to give, as published logs of clients show them: 0 "Cannot connect
    /// to iTunes Store", 5002 an unknown error, 5020 "Forget Your Password?", -5000 a wrong password.
    public static let serverCodes = [0, 5002, 5020, -5000]

    /// The cases of `SKError.Code` in the order of their raw values, from 0 (SKError.h of iOS 16.5).
    public static let storeKitNames = [
        "unknown", "clientInvalid", "paymentCancelled", "paymentInvalid", "paymentNotAllowed",
        "storeProductNotAvailable", "cloudServicePermissionDenied", "cloudServiceNetworkConnectionFailed",
        "cloudServiceRevoked", "privacyAcknowledgementRequired", "unauthorizedRequestData", "invalidOfferIdentifier",
        "invalidSignature", "missingOfferParams", "invalidOfferPrice", "overlayCancelled",
        "overlayInvalidConfiguration", "overlayTimeout", "ineligibleForOffer", "unsupportedPlatform",
        "overlayPresentedInBackgroundScene",
    ]

    /// Reads a name: a case of `SKError.Code`, or a server's code as `SSServerErrorDomain/5020`. Nil for anything else.
    public init?(name: some StringProtocol) {
        if let code = Self.storeKitNames.firstIndex(where: { $0 == name }) {
            self.init(domain: Self.storeKitDomain, code: code)
            return
        }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == Self.serverDomain, let code = Int(parts[1]), "\(code)" == parts[1],
            Self.serverCodes.contains(code)
        else { return nil }
        self.init(domain: Self.serverDomain, code: code)
    }

    /// The name that ``init(name:)`` reads.
    public var name: String {
        domain == Self.storeKitDomain && Self.storeKitNames.indices.contains(code)
            ? Self.storeKitNames[code] : "\(domain)/\(code)"
    }

    /// Every name, for a help text.
    public static let names = storeKitNames + serverCodes.map { "\(serverDomain)/\($0)" }
}
