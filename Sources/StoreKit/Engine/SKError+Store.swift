import Foundation
import StoreWire

/// Maps every failure to an `SKError`. The text is Apple's if Apple has one, else the store's message.
extension PaymentFailure {
    /// The store cannot be reached. Apple's StoreKit also uses this error for all other failures.
    static let unreachable = PaymentFailure(.unknown, .cannotConnect)
    /// The customer cancelled. Apple's StoreKit gives this error the same text.
    static let cancelled = PaymentFailure(.paymentCancelled, .cannotConnect)
    static let notAllowed = PaymentFailure(.paymentNotAllowed, .paymentNotAllowed)
    static let notAvailable = PaymentFailure(.storeProductNotAvailable, .productNotAvailable)
    /// The store has no page with the number. Apple's StoreKit gives this error the text of a lost connection.
    static let noPage = PaymentFailure(.storeProductNotAvailable, .cannotConnect)
    static let journal = PaymentFailure(.unknown, .notSaved)
    static let requestData = PaymentFailure(.unauthorizedRequestData, .requestData)
    static let otherAccount = PaymentFailure(.unknown, .otherAccount)
    /// Too many wrong passwords in a row, with the code of Apple's servers.
    static let forgotPassword = PaymentFailure(.unknown, .forgotPassword, underlying: .server(5020))
    /// The account is locked, with the code of Apple's servers.
    static let accountLocked = PaymentFailure(.unknown, .accountLocked, underlying: .server(0))

    /// The failure for a permanent refusal of the store; nil stands for a refusal without a reason.
    init(refusal: WireError?) {
        guard let refusal else {
            self = .unreachable
            return
        }
        if refusal.code == .ordered, let ordered = refusal.error.flatMap(PaymentFailure.init(ordered:)) {
            self = ordered
            return
        }
        // The text is shown on a screen, so its length is limited.
        let text = refusal.message.isEmpty ? nil : String(refusal.message.prefix(500))
        switch refusal.code {
        case .paymentNotAllowed: self.init(.paymentNotAllowed, .paymentNotAllowed, text: text)
        case .productNotAvailable, .unknownApp: self.init(.storeProductNotAvailable, .productNotAvailable, text: text)
        case .invalidQuantity, .invalidRequest, .tooLarge: self.init(.paymentInvalid, .paymentInvalid, text: text)
        case .invalidOfferIdentifier: self.init(.invalidOfferIdentifier, .offerIdentifier, text: text)
        case .invalidOfferSignature: self.init(.invalidSignature, .offerSignature, text: text)
        case .missingOfferParameters: self.init(.missingOfferParams, .offerParameters, text: text)
        case .invalidOfferPrice: self.init(.invalidOfferPrice, .offerPrice, text: text)
        case .ineligibleForOffer: self.init(.ineligibleForOffer, .ineligibleForOffer, text: text)
        case .paymentDeclined: self.init(.unknown, .paymentDeclined, text: text)
        case .interrupted: self.init(.unknown, .interrupted, text: text)
        case .priceChanged: self.init(.unknown, .priceChanged, text: text)
        case .unknownCode: self.init(.unknown, .codeUnknown, text: text)
        case .codeUsed: self.init(.unknown, .codeUsed, text: text)
        case .notSignedIn: self.init(.unknown, .otherAccount, text: text)
        case .accountLocked: self = .accountLocked
        case .alreadySubscribed:
            // The underlying error that clients of Apple's store have observed.
            let underlying = Underlying(domain: "ASDServerErrorDomain", code: 3532)
            self.init(.unknown, .alreadySubscribed, text: text, underlying: underlying)
        default:
            if let text { self.init(.unknown, text) } else { self.init(.unknown, .purchaseFailed) }
        }
    }

    /// The failure for an error that the operator ordered; nil when StoreKit has no such error.
    init?(ordered: OrderedError) {
        switch ordered.domain {
        case OrderedError.storeKitDomain:
            guard let code = SKError.Code(rawValue: ordered.code) else { return nil }
            self.init(code, ErrorTexts.Key(code))
        case OrderedError.serverDomain:
            self.init(.unknown, ErrorTexts.Key(serverCode: ordered.code), underlying: .server(ordered.code))
        default:
            return nil
        }
    }

    init(_ failure: StoreFailure) {
        switch failure {
        case .unreachable, .notSignedIn: self = .unreachable
        case .refused(let refusal): self.init(refusal: refusal)
        }
    }

    /// Validates a payment before it is sent to the store; nil when the payment is valid.
    init?(of payment: PaymentValues) {
        if payment.requestData != nil {
            self = .requestData
        } else if payment.quantity > StoreLimits.quantity || payment.quantity < 1 {
            self.init(
                .paymentInvalid, .paymentInvalid,
                text: "The quantity is \(payment.quantity); the store sells 1 to \(StoreLimits.quantity) at once.")
        } else if !ProductID(payment.productIdentifier).isPlain {
            self = .notAvailable
        } else if (payment.applicationUsername ?? "").utf8.count > StoreLimits.applicationUsername {
            self = .usernameTooLong
        } else {
            return nil
        }
    }
}

extension PaymentFailure.Underlying {
    /// An error of Apple's store servers.
    static func server(_ code: Int) -> Self { Self(domain: OrderedError.serverDomain, code: code) }
}
