import ArgumentParser
import ControlWire

/// A text in a language, written `LOCALE=TEXT`.
struct LocalText: ExpressibleByArgument {
    var locale: String
    var text: String

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else { return nil }
        locale = String(argument[..<sign])
        text = String(argument[argument.index(after: sign)...])
    }
}

/// The localizations of a product or group, as a catalog document has them.
struct LocalTexts {
    private var texts: [[String: ControlAPI.CatalogValue]] = []

    /// Takes the localizations of a document; nil for none.
    init(_ value: ControlAPI.CatalogValue?) {
        guard case .array(let elements) = value else { return }
        texts = elements.compactMap { if case .object(let members) = $0 { members } else { nil } }
    }

    /// Sets a key of a language, and adds the language if it is new.
    mutating func set(_ key: String, _ new: LocalText) {
        let index = texts.firstIndex { $0["locale"]?.text == new.locale } ?? texts.count
        if index == texts.count { texts.append(["locale": .string(new.locale), "displayName": .string("")]) }
        texts[index][key] = .string(new.text)
    }

    /// Like ``set(_:_:)``, with the result as a new value.
    func setting(_ key: String, _ new: LocalText) -> LocalTexts {
        var texts = self
        texts.set(key, new)
        return texts
    }

    /// Removes a language. Returns false when it is not there.
    mutating func remove(_ locale: String) -> Bool {
        let count = texts.count
        texts.removeAll { $0["locale"]?.text == locale }
        return texts.count < count
    }

    /// The localizations for a document.
    var value: ControlAPI.CatalogValue { .array(texts.map { .object($0) }) }
}
