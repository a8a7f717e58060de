import Foundation
import StoreWire

/// The one map from what goes wrong to `SKError`. Texts are Apple's where Apple has one; the store's own words
/// otherwise.
extension PaymentFailure {
    /// The catch-all of Apple's StoreKit, seen whenever the store cannot be reached.
    static let unreachable = PaymentFailure(.unknown, "Cannot connect to iTunes Store")
    /// The customer said no. The text is what Apple's StoreKit says then, too.
    static let cancelled = PaymentFailure(.paymentCancelled, "Cannot connect to iTunes Store")
    static let notAllowed = PaymentFailure(.paymentNotAllowed, "Purchases are not allowed on this device.")
    static let notAvailable = PaymentFailure(.storeProductNotAvailable, "This product is not available in the store.")
    static let journal = PaymentFailure(.unknown, "The purchase could not be saved on this device, and was not made.")
    static let requestData = PaymentFailure(.unauthorizedRequestData, "The app may not use requestData.")
    static let wrongPassword = PaymentFailure(.unknown, "The password is not right.")
    static let otherAccount = PaymentFailure(
        .unknown, "The account that began this purchase is no longer known to the store.")

    /// What the store refused for good; nil when it gave no reason.
    init(refusal: WireError?) {
        guard let refusal else {
            self = .unreachable
            return
        }
        // It goes to a screen: bounded, whatever the store says.
        let text =
            refusal.message.isEmpty ? "The purchase could not be completed." : String(refusal.message.prefix(500))
        switch refusal.code {
        case .paymentNotAllowed: self.init(.paymentNotAllowed, text)
        case .productNotAvailable, .unknownApp: self.init(.storeProductNotAvailable, text)
        case .invalidQuantity, .invalidRequest, .tooLarge: self.init(.paymentInvalid, text)
        case .invalidOfferIdentifier: self.init(.invalidOfferIdentifier, text)
        case .invalidOfferSignature: self.init(.invalidSignature, text)
        case .missingOfferParameters: self.init(.missingOfferParams, text)
        case .invalidOfferPrice: self.init(.invalidOfferPrice, text)
        case .ineligibleForOffer: self.init(.ineligibleForOffer, text)
        default: self.init(.unknown, text)
        }
    }

    init(_ failure: StoreFailure) {
        switch failure {
        case .unreachable, .notSignedIn: self = .unreachable
        case .refused(let refusal): self.init(refusal: refusal)
        }
    }

    /// What is wrong with a payment before the store is asked; nil when nothing is.
    init?(of payment: PaymentValues) {
        if payment.requestData != nil {
            self = .requestData
        } else if payment.quantity > StoreLimits.quantity || payment.quantity < 1 {
            self.init(
                .paymentInvalid,
                "The quantity is \(payment.quantity); the store sells 1 to \(StoreLimits.quantity) at once.")
        } else if payment.productIdentifier.utf8.count > StoreLimits.identifier {
            self = .notAvailable
        } else if (payment.applicationUsername ?? "").utf8.count > StoreLimits.applicationUsername {
            self.init(
                .paymentInvalid,
                "applicationUsername is longer than \(StoreLimits.applicationUsername) bytes; use a hash or a UUID.")
        } else {
            return nil
        }
    }
}
