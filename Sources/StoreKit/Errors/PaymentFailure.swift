import Foundation

/// The reason why a payment failed, as the journal stores it.
struct PaymentFailure: Error, Codable, Sendable, Equatable {
    /// The underlying error of another domain.
    struct Underlying: Codable, Sendable, Equatable {
        var domain: String
        var code: Int
    }

    /// An `SKError.Code`.
    var code: Int
    /// The English text for the customer: the store's message if it sent one.
    var text: String
    /// An ``ErrorTexts/Key``, for other languages. A newer program's journal may contain an unknown key.
    var key: String?
    var underlying: Underlying?

    /// A failure with the same text in all languages.
    init(_ code: SKError.Code, _ text: String) {
        self.code = code.rawValue
        self.text = text
    }

    /// A failure with a text in the customer's language.
    /// - Parameter text: the English text, when it is more precise than the table's.
    init(
        _ code: SKError.Code, _ key: ErrorTexts.Key, text: String? = nil, underlying: Underlying? = nil
    ) {
        self.code = code.rawValue
        self.text = text ?? ErrorTexts.text(key, in: .english)
        self.key = key.rawValue
        self.underlying = underlying
    }

    /// The text for the customer, in the first available language.
    func text(in languages: [String]) -> String {
        let language = ErrorTexts.Language(preferred: languages)
        guard language != .english, let key = key.flatMap(ErrorTexts.Key.init(rawValue:)) else { return text }
        return ErrorTexts.text(key, in: language)
    }

    /// The error for the app, with its text in the first available language.
    func error(in languages: [String]) -> SKError {
        let text = text(in: languages)
        var information: [String: Any] = [NSLocalizedDescriptionKey: text]
        if let underlying {
            information[NSUnderlyingErrorKey] = NSError(
                domain: underlying.domain, code: underlying.code, userInfo: [NSLocalizedDescriptionKey: text])
        }
        return SKError(SKError.Code(rawValue: code) ?? .unknown, userInfo: information)
    }

    /// The error for the app, in English.
    var error: SKError { error(in: []) }
}
