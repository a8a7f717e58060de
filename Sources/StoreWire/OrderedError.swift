/// An error that the operator injects and the device passes to the app: either an error of StoreKit by Apple's name, or
/// an error of Apple's servers by its code.
public struct OrderedError: Codable, Sendable, Hashable {
    /// `SKErrorDomain` or `SSServerErrorDomain`.
    public var domain: String
    /// The error code within the domain.
    public var code: Int

    /// Creates an ordered error.
    public init(domain: String, code: Int) {
        self.domain = domain
        self.code = code
    }

    /// The domain of Apple's StoreKit errors.
    public static let storeKitDomain = "SKErrorDomain"
    /// The domain of errors from Apple's store servers. It appears as the underlying error of `SKError.unknown`.
    public static let serverDomain = "SSServerErrorDomain"

    /// The known error codes of Apple's store servers, taken from published client logs: 0 is "Cannot connect to iTunes
    /// Store", 5002 is an unknown error, 5020 is "Forget Your Password?", and -5000 is a wrong password.
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

    /// Reads a name: either a case of `SKError.Code`, or a server's code in the form `SSServerErrorDomain/5020`.
    /// Returns nil for anything else.
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

    /// All names, for help texts.
    public static let names = storeKitNames + serverCodes.map { "\(serverDomain)/\($0)" }
}
