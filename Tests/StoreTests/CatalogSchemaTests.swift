import Foundation
import StoreWire
import Testing

@testable import Store

/// Our own format, its published schema and its documentation say the same.
@Suite(.timeLimit(.minutes(1))) struct CatalogSchemaTests {
    private static func schema() throws -> JSONValue {
        let url = CatalogFixtures.root.appendingPathComponent("Documentation/catalog.schema.json")
        return try JSONParser.parse([UInt8](try Data(contentsOf: url)), file: "catalog.schema.json").value
    }

    @Test func theSchemaHasExactlyTheReadersKeys() throws {
        var asked: [String: Set<String>] = [:]
        _ = try CornerstoreCatalogFile.read(Array(try CatalogFixtures.documentedYAML().utf8), file: "a") {
            asked = $0.keysAsked
        }
        try ItemFolder.with { folder in
            _ = try CornerstoreCatalogFile.read(
                Array(try CatalogFixtures.documentedItemsYAML().utf8), file: folder.catalog
            ) {
                asked.merge($0.keysAsked) { $0.union($1) }
            }
        }
        let schema = try Self.schema()
        var described =
            schema["$defs"]?.members.compactMapValues { $0["properties"].map { Set($0.members.keys) } } ?? [:]
        described["catalog"] = schema["properties"].map { Set($0.members.keys) }
        #expect(asked == described)
    }

    @Test func theDocumentedFileHasEveryKey() throws {
        let schema = try Self.schema()
        let document = try YAMLParser.parse(Array(try CatalogFixtures.documentedYAML().utf8), file: "a").value
        let items = try YAMLParser.parse(Array(try CatalogFixtures.documentedItemsYAML().utf8), file: "a").value
        let words = Set(document.allKeys).union(items.allKeys)
        for (name, definition) in schema["$defs"]?.members ?? [:] {
            for key in definition["properties"]?.members.keys.sorted() ?? [] {
                #expect(words.contains(key), "\(name).\(key)")
            }
        }
    }

    @Test func everyObjectOfTheSchemaIsClosed() throws {
        for (name, definition) in try Self.schema()["$defs"]?.members ?? [:] where definition["properties"] != nil {
            #expect(definition["additionalProperties"] == .bool(false), "\(name)")
        }
    }

    /// What is taken out of the documented file is missed: no key is read and forgotten.
    @Test func everyKeyHasAnEffect() throws {
        let document = try YAMLParser.parse(Array(try CatalogFixtures.documentedYAML().utf8), file: "a").value
        let app = try CatalogFixtures.documentedApp()
        // These say what holds without them too.
        let usual: Set<String> = ["false", "groupNumber"]
        for (path, variant) in document.withoutEachKey(path: "") {
            guard !usual.contains(where: path.hasSuffix) else { continue }
            let read = try? CornerstoreCatalogFile.read(Array(YAMLText.text(of: variant, order: []).utf8), file: "a")
                .apps
            #expect(read != [app], "\(path)")
        }
    }

    @Test func unknownKeysAreErrorsWithTheirLine() throws {
        let lines = try CatalogFixtures.documentedYAML().split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
        var tried = 0
        for (index, line) in lines.enumerated()
        where line.contains("productID:") || line.contains("paymentMode:") || line.contains("locale:") {
            let indentation = String(line.prefix { $0 == " " || $0 == "-" }).map { _ in " " }.joined()
            let text = (lines[...index] + ["\(indentation)speling: 1"] + lines[(index + 1)...]).joined(separator: "\n")
            let error = #expect(throws: CatalogError.self) {
                try CornerstoreCatalogFile.read(Array(text.utf8), file: "a.yaml")
            }
            #expect(error?.problems.map(\.line) == [index + 2])
            #expect(error?.problems.first?.keyPath.hasSuffix(".speling") == true)
            tried += 1
        }
        #expect(tried > 8)
    }

    @Test(arguments: [
        ("displayPrice: 0.99", "displayPrice: 0.99999", "is not a price"), ("JPN: 150", "JP: 150", "country code"),
        ("EUR: 1.19", "EU: 1.19", "currency"), ("EUR: 1.19", "EUR: cheap", "is not a price"),
        ("except: [CHN]", "except: [China]", "country code"),
        ("except: [CHN]", "except: [CHN]\n          only: [USA]", "both only and except"),
        ("type: Consumable", "type: consumable", "is not a valid type"),
        (
            "type: NonRenewingSubscription", "type: NonRenewingSubscription\n        hosted: true",
            "only a non-consumable"
        ),
        ("type: FreeSubscription", "type: FreeSubscription\n        displayPrice: 1", "has no price"),
        ("storekitVersion: 5.0", "storekitVersion: 9.0", "from 1.0 to 5.0"),
        ("storefront: USA", "storefront: usa", "alpha-3"),
        ("bundleID: com.example.monkeys", "bundleID: com..example", "is not a bundle id"),
        ("paymentMode: free", "paymentMode: free\n                displayPrice: 1", "free offer has no price"),
        ("eligibility: [new, expired]", "eligibility: [new, old]", "use new, existing, expired"),
        ("isStackable: true", "autoRenewEnabled: false", "only a free offer can end"),
        ("mostLapsedMonths: 12", "mostLapsedMonths: 2", "must be above lapsedMonths"),
    ])
    func mistakesAreExplained(old: String, new: String, words: String) throws {
        let text = try CatalogFixtures.documentedYAML()
        let range = try #require(text.firstRange(of: old))
        let line = text[..<range.lowerBound].count { $0 == "\n" } + 1
        let changed = text.replacingCharacters(in: range, with: new)
        let error = #expect(throws: CatalogError.self) {
            try CornerstoreCatalogFile.read(Array(changed.utf8), file: "a.yaml")
        }
        let problem = try #require(error?.problems.first)
        #expect(problem.message.contains(words), "\(problem)")
        #expect((line...line + 1).contains(problem.line ?? 0), "\(problem)")
    }

    @Test func theDocumentedFileIsReadCorrectly() throws {
        let app = try CatalogFixtures.documentedApp()
        #expect(app.bundleID == "com.example.monkeys")
        #expect(app.name == "Monkey Credits")
        #expect(app.itemID == 1_234_567_890)
        #expect(
            app.products.map(\.kind) == [
                .consumable, .nonConsumable, .nonRenewingSubscription, .freeSubscription, .autoRenewableSubscription,
            ])
        let monthly = try #require(app.product("com.example.monkeys.pro.monthly"))
        #expect(monthly.subscription?.winBackOffers.first?.unknown == ["priority": .string("NORMAL")])
        #expect(monthly.subscription?.billingPlans.first?.commitmentAmount == 47_880)
        #expect(app.settings.unknown == ["_timeRate": .number("6")])
        #expect(
            try CornerstoreCatalogFile.read(Array(CornerstoreCatalogFile.text(of: [app]).utf8), file: "b").apps == [app]
        )
    }
}

extension JSONValue {
    fileprivate var members: [String: JSONValue] {
        if case .object(let members) = self { members } else { [:] }
    }

    fileprivate subscript(key: String) -> JSONValue? { members[key] }

    var allKeys: [String] {
        switch self {
        case .object(let members): members.flatMap { [$0.key] + $0.value.allKeys }
        case .array(let elements): elements.flatMap(\.allKeys)
        default: []
        }
    }

    /// The document without one key, for each of them; the path ends with `false` where the value is that.
    func withoutEachKey(path: String) -> [(String, JSONValue)] {
        switch self {
        case .object(let members):
            members.flatMap { key, member -> [(String, JSONValue)] in
                var without = members
                without[key] = nil
                let end = member == .bool(false) ? ".false" : ""
                return [("\(path).\(key)\(end)", .object(without))]
                    + member.withoutEachKey(path: "\(path).\(key)").map { path, variant in
                        (path, .object(members.merging([key: variant]) { $1 }))
                    }
            }
        case .array(let elements):
            elements.enumerated().flatMap { index, element in
                element.withoutEachKey(path: "\(path)[\(index)]").map { path, variant in
                    var copy = elements
                    copy[index] = variant
                    return (path, .array(copy))
                }
            }
        default: []
        }
    }
}
