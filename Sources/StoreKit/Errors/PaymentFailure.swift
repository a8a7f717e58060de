import Foundation

/// Why a payment failed, as the journal keeps it.
struct PaymentFailure: Error, Codable, Sendable, Equatable {
    /// The error of another domain inside.
    struct Underlying: Codable, Sendable, Equatable {
        var domain: String
        var code: Int
    }

    /// An `SKError.Code`.
    var code: Int
    /// For the customer, in English: the store's own words where it has some.
    var text: String
    /// An ``ErrorTexts/Key``, for other languages; a journal of a newer program may hold one that is not known.
    var key: String?
    var underlying: Underlying?

    /// A failure that is told in these words whatever the language.
    init(_ code: SKError.Code, _ text: String) {
        self.code = code.rawValue
        self.text = text
    }

    /// A failure that is told in the customer's language.
    /// - Parameter text: what is said in English, when there is something better than the table's.
    init(
        _ code: SKError.Code, _ key: ErrorTexts.Key, text: String? = nil, underlying: Underlying? = nil
    ) {
        self.code = code.rawValue
        self.text = text ?? ErrorTexts.text(key, in: .english)
        self.key = key.rawValue
        self.underlying = underlying
    }

    /// What the customer reads.
    func text(in languages: [String]) -> String {
        let language = ErrorTexts.Language(preferred: languages)
        guard language != .english, let key = key.flatMap(ErrorTexts.Key.init(rawValue:)) else { return text }
        return ErrorTexts.text(key, in: language)
    }

    /// What the app is given.
    func error(in languages: [String]) -> SKError {
        let text = text(in: languages)
        var information: [String: Any] = [NSLocalizedDescriptionKey: text]
        if let underlying {
            information[NSUnderlyingErrorKey] = NSError(
                domain: underlying.domain, code: underlying.code, userInfo: [NSLocalizedDescriptionKey: text])
        }
        return SKError(SKError.Code(rawValue: code) ?? .unknown, userInfo: information)
    }

    /// The same in English.
    var error: SKError { error(in: []) }
}
