import Foundation
import StoreWire
import Synchronization

/// Writes prices as customers of a storefront read them (`$0.99`, `0,99 €`, `Free`).
public final class ItemPriceText: Sendable {
    private struct Key: Hashable {
        var storefront: String
        var milliunits: Int64
    }

    /// Formatting takes much longer than the rest of an answer, and most prices recur.
    private let known = Mutex<[Key: String]>([:])
    private static let mostKnown = 20_000

    /// Creates an empty cache.
    public init() {}

    /// A price in a storefront's language and currency.
    public func text(_ price: Money, in storefront: Storefront) -> String {
        guard price.milliunits != 0 else { return Self.free(storefront.language) }
        let key = Key(storefront: storefront.countryCode, milliunits: price.milliunits)
        if let text = known.withLock({ $0[key] }) { return text }
        let locale = Locale(identifier: "\(storefront.language)_\(storefront.regionCode)")
        let text = (Decimal(price.milliunits) / 1000).formatted(
            .currency(code: price.currency).locale(locale).presentation(.narrow))
        known.withLock { known in
            if known.count >= Self.mostKnown { known.removeAll() }
            known[key] = text
        }
        return text
    }

    /// The word for an item without a price, in the language of a storefront.
    static func free(_ language: String) -> String { words[language] ?? "Free" }

    private static let words = [
        "zh_Hans": "免费", "zh_Hant": "免費", "ja": "無料", "ko": "무료", "de": "Gratis", "fr": "Gratuit", "es": "Gratis",
        "it": "Gratis", "pt": "Grátis", "nl": "Gratis", "sv": "Gratis", "da": "Gratis", "nb": "Gratis",
        "fi": "Maksuton", "ru": "Бесплатно", "uk": "Безкоштовно", "pl": "Bezpłatne", "cs": "Zdarma", "sk": "Zadarmo",
        "hu": "Ingyenes", "ro": "Gratuit", "hr": "Besplatno", "el": "Δωρεάν", "tr": "Ücretsiz", "he": "חינם",
        "ar": "مجاني", "hi": "निःशुल्क", "th": "ฟรี", "vi": "Miễn phí", "id": "Gratis", "ms": "Percuma",
    ]
}
