import ArgumentParser
import ControlWire
import Foundation

/// The options that set a product's keys in a catalog document.
struct ProductKeys: ParsableArguments {
    @Option(help: "The price, such as 0.99.")
    var price: String?
    @Option(help: "The developer's name for the product.")
    var referenceName: String?
    @Option(
        help: ArgumentHelp(
            "The name in a language. Repeat the option for several languages.", valueName: "locale=text"))
    var name: [LocalText] = []
    @Option(
        help: ArgumentHelp(
            "The description in a language. Repeat the option for several languages.", valueName: "locale=text"))
    var description: [LocalText] = []
    @Option(help: ArgumentHelp("Remove the texts in a language. Repeat the option as needed.", valueName: "locale"))
    var removeLocale: [String] = []
    @Option(
        help: ArgumentHelp(
            "The storefronts that sell the product, such as USA,CAN, or “all”.", valueName: "countries"))
    var availableIn: String?
    @Option(help: "Whether the store hosts content for the product: only for new non-consumables.")
    var hosted: AccountCommand.Switch?
    @Option(help: "Whether the product can be shared in a family.")
    var familyShareable: AccountCommand.Switch?
    @Option(help: "Whether subscribers keep their price when the subscription's price rises.")
    var preserveCurrentPrice: AccountCommand.Switch?
    @Option(help: "The length of a subscription's period, such as P1M.")
    var period: String?
    @Option(parsing: .unconditional, help: "The subscription's level of service in its group; 1 is the highest.")
    var level: Int?
    @Option(
        help: ArgumentHelp(
            "A JSON file with any keys of a product in a YAML catalog, such as prices or offers; - for standard input.",
            valueName: "file"), completion: .file())
    var document: String?

    /// Returns the keys with their new values.
    /// - Parameter document: the product's document; nil for a new product.
    /// - Throws: ``CommandError`` when the file is no JSON object, or a language is not there.
    func members(
        changing document: ControlAPI.CatalogValue?
    ) throws -> [String: ControlAPI.CatalogValue] {
        var members = try self.document.map(Self.read) ?? [:]
        let texts: [(String, String?)] = [
            ("displayPrice", price), ("referenceName", referenceName), ("recurringSubscriptionPeriod", period),
        ]
        for (key, text) in texts { if let text { members[key] = .string(text) } }
        if let hosted { members["hosted"] = .bool(hosted.isOn) }
        if let familyShareable { members["familyShareable"] = .bool(familyShareable.isOn) }
        if let preserveCurrentPrice { members["preserveCurrentPrice"] = .bool(preserveCurrentPrice.isOn) }
        if let level { members["groupNumber"] = .number(Decimal(level)) }
        if let availableIn {
            let countries = availableIn.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            members["availability"] =
                availableIn == "all" ? .null : .object(["only": .array(countries.map { .string($0) })])
        }
        if !name.isEmpty || !description.isEmpty || !removeLocale.isEmpty {
            var localizations = ControlAPI.DocumentTexts(members["localizations"] ?? document?["localizations"])
            for text in name { localizations.set("displayName", text.text, in: text.locale) }
            for text in description { localizations.set("description", text.text, in: text.locale) }
            for locale in removeLocale where !localizations.remove(locale) {
                throw CommandError(.refused, "The product has no texts in \(Style.printable(locale)).")
            }
            members["localizations"] = localizations.value
        }
        return members
    }

    private static func read(_ path: String) throws -> [String: ControlAPI.CatalogValue] {
        let bytes = try BoundedInput.read(path, limit: 1 << 20, what: "product")
        guard case .object(let members) = try? JSONDecoder().decode(ControlAPI.CatalogValue.self, from: Data(bytes))
        else {
            throw CommandError(.refused, "\(path) is not a JSON object with keys of a product.")
        }
        return members
    }
}
