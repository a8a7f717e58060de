/// The texts of StoreKit's errors in the customer's language.
enum ErrorTexts {
    /// The name of a text. Journals store raw values, so a raw value is never renamed.
    enum Key: String, Sendable, CaseIterable {
        case cannotConnect
        case serverError
        case forgotPassword
        case wrongPassword
        case accountLocked
        case paymentDeclined
        case interrupted
        case alreadySubscribed
        case priceChanged
        case purchaseFailed
        case notSaved
        case otherAccount
        case codeUnknown
        case codeUsed
        case usernameTooLong
        case clientInvalid
        case paymentInvalid
        case paymentNotAllowed
        case productNotAvailable
        case cloudPermissionDenied
        case cloudNetworkFailed
        case cloudRevoked
        case privacyAcknowledgement
        case requestData
        case offerIdentifier
        case offerSignature
        case offerParameters
        case offerPrice
        case overlayCancelled
        case overlayConfiguration
        case overlayTimeout
        case ineligibleForOffer
        case unsupportedPlatform
        case overlayInBackground
        case contentNotAvailable
        case contentDamaged
        case noSpace
    }

    /// The languages in which the texts are written, in the order of the table's columns.
    enum Language: String, Sendable, CaseIterable {
        case english = "en"
        case portuguese = "pt"
        case russian = "ru"
        case simplifiedChinese = "zh-Hans"
        case traditionalChinese = "zh-Hant"
        case french = "fr"
        case german = "de"
        case spanish = "es"
        case japanese = "ja"

        /// The first available language of a list of BCP 47 or POSIX names, best first: `pt_BR` is Portuguese, and
        /// `zh-TW` is traditional Chinese. English when none is available.
        init(preferred: [String]) {
            self = preferred.lazy.compactMap(Language.init(tag:)).first ?? .english
        }

        private init?(tag: String) {
            let parts = tag.prefix { $0 != "." && $0 != "@" }.split { $0 == "-" || $0 == "_" }.map { $0.lowercased() }
            guard let first = parts.first else { return nil }
            guard first == "zh" else {
                self.init(rawValue: first)
                return
            }
            // The script decides. Without a script, the region does.
            if parts.contains("hans") {
                self = .simplifiedChinese
            } else {
                let isTraditional = parts.dropFirst().contains { ["hant", "tw", "hk", "mo"].contains($0) }
                self = isTraditional ? .traditionalChinese : .simplifiedChinese
            }
        }
    }

    /// The text in a language; English if the table lacks it. A test checks that no text is missing.
    static func text(_ key: Key, in language: Language) -> String {
        let row = table[key] ?? []
        let column = Language.allCases.firstIndex(of: language) ?? 0
        return row.indices.contains(column) ? row[column] : row.first ?? key.rawValue
    }
}

extension ErrorTexts.Key {
    /// The text for an error of which only the code is known.
    init(_ code: SKError.Code) {
        self =
            switch code {
            case .unknown, .paymentCancelled: .cannotConnect
            case .clientInvalid: .clientInvalid
            case .paymentInvalid: .paymentInvalid
            case .paymentNotAllowed: .paymentNotAllowed
            case .storeProductNotAvailable: .productNotAvailable
            case .cloudServicePermissionDenied: .cloudPermissionDenied
            case .cloudServiceNetworkConnectionFailed: .cloudNetworkFailed
            case .cloudServiceRevoked: .cloudRevoked
            case .privacyAcknowledgementRequired: .privacyAcknowledgement
            case .unauthorizedRequestData: .requestData
            case .invalidOfferIdentifier: .offerIdentifier
            case .invalidSignature: .offerSignature
            case .missingOfferParams: .offerParameters
            case .invalidOfferPrice: .offerPrice
            case .overlayCancelled: .overlayCancelled
            case .overlayInvalidConfiguration: .overlayConfiguration
            case .overlayTimeout: .overlayTimeout
            case .ineligibleForOffer: .ineligibleForOffer
            case .unsupportedPlatform: .unsupportedPlatform
            case .overlayPresentedInBackgroundScene: .overlayInBackground
            }
    }

    /// The text for an error of Apple's store servers.
    init(serverCode: Int) {
        self =
            switch serverCode {
            case 0: .cannotConnect
            case 5020: .forgotPassword
            case -5000: .wrongPassword
            default: .serverError
            }
    }
}
