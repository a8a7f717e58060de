import StoreWire
import TestSupport
import Testing

@testable import Store

/// Nothing that stands in a file makes the reader crash, hang or take much memory.
@Suite(.timeLimit(.minutes(1))) struct CatalogHostileInputTests {
    private func storeKit(_ text: String) -> CatalogError? {
        do {
            _ = try StoreKitConfigurationFile.read(Array(text.utf8), file: "hostile.storekit", bundleID: "com.example")
            return nil
        } catch { return error }
    }

    private func yaml(_ text: String) -> CatalogError? {
        do {
            _ = try CornerstoreCatalogFile.read(Array(text.utf8), file: "hostile.yaml")
            return nil
        } catch { return error }
    }

    @Test func deepNestingIsRefused() {
        for depth in [65, 1_000, 100_000] {
            #expect(storeKit(String(repeating: "[", count: depth))?.code == .tooLarge)
            #expect(storeKit(String(repeating: #"{"a":"#, count: depth))?.code == .tooLarge)
            #expect(yaml(String(repeating: "[", count: depth)) != nil)
            #expect(yaml(String(repeating: "- ", count: depth) + "a") != nil)
            #expect(yaml(String(repeating: "? ", count: depth) + "a") != nil)
            #expect(yaml(String(repeating: "{a: ", count: depth)) != nil)
        }
        #expect(yaml(String(repeating: "[", count: 900) + String(repeating: "]", count: 900))?.code == .tooLarge)
    }

    @Test func deepNestingIsRefusedOnASmallStackToo() async {
        let text = String(repeating: "[", count: 990) + String(repeating: "]", count: 990)
        let code = await Task.detached { yaml(text)?.code }.value
        #expect(code == .tooLarge)
    }

    @Test func largeFilesAreRefused() {
        #expect(storeKit(String(repeating: " ", count: CatalogLimits.storeKitFile + 1))?.code == .tooLarge)
        #expect(yaml(String(repeating: " ", count: CatalogLimits.yamlFile + 1))?.code == .tooLarge)
        #expect(storeKit("[" + String(repeating: "0,", count: 600_000) + "0]")?.code == .tooLarge)
        let products = String(repeating: "{},", count: 10_001) + "{}"
        #expect(storeKit(#"{"version":{"major":4},"products":[\#(products)]}"#)?.code == .tooLarge)
    }

    @Test func theNumberOfReportedProblemsIsLimited() {
        let products = String(repeating: "7,", count: 9_000) + "7"
        #expect(
            storeKit(#"{"version":{"major":4},"products":[\#(products)]}"#)?.problems.count == CatalogLimits.problems)
    }

    @Test func aliasesAreRefused() {
        var bomb = "cornerstore-catalog: 1\na0: &a0 [x, x]\n"
        for level in 1...40 { bomb += "a\(level): &a\(level) [\(String(repeating: "*a\(level - 1), ", count: 9))x]\n" }
        #expect(yaml(bomb)?.problems.first?.message.contains("aliases") == true)
        var keys = "cornerstore-catalog: 1\na0: &a0 [x, x]\n"
        for level in 1...40 { keys += "? &a\(level) [*a\(level - 1), *a\(level - 1)]\n: x\n" }
        #expect(yaml(keys)?.problems.first?.message.contains("aliases") == true)
        #expect(yaml("cornerstore-catalog: &v 1\napps: []")?.problems.first?.line == 1)
        #expect(
            yaml("cornerstore-catalog: 1\napps: &a []\nxcode: *a")?.problems.first?.message.contains("aliases") == true)
        #expect(yaml("a: *nothing") != nil)
    }

    /// Shapes that could make a parser take more than linear time; without a bound this test does not come to an end.
    @Test func largeFilesTakeBoundedTime() {
        let size = CatalogLimits.yamlFile / 8
        func fill(_ piece: (Int) -> String) -> String {
            var text = ""
            var index = 0
            while text.utf8.count < size {
                text += piece(index)
                index += 1
            }
            return text
        }
        for (name, text) in [
            ("keys", fill { "k\($0): 1\n" }), ("one line", "[" + fill { "\($0)," } + "]"),
            ("references", fill { _ in "*a " }),
            ("anchors", fill { "- &a\($0) b\n" }), ("aliases", "- &a b\n" + fill { _ in "- *a\n" }),
            ("text", "a: \"" + fill { _ in "x " } + "\""),
            ("brackets", fill { _ in "[]," }), ("lines", fill { _ in "\n" }), ("comment", "#" + fill { _ in "&a " }),
            ("keys in keys", fill { _ in "{a,b: " }),
            ("long keys", String(repeating: "? ", count: 900) + "[" + fill { _ in "x," } + "]"),
            (
                "flow keys",
                String(repeating: "{", count: 60) + "[" + fill { _ in "x," } + "]"
                    + String(repeating: ": 1}", count: 60)
            ),
            ("few aliases", "- &a [" + fill { _ in "x," } + "]\n- &b {[*a, *a]: 1}\n- {[*b, *b]: 1}"),
        ] {
            let time = ProcessorTime.of { #expect(yaml(text) != nil, "\(name)") }
            #expect(time < .seconds(30), "\(name) took \(time)")
        }
        let json = String(repeating: " ", count: 4 << 20)
        for (name, text) in [
            ("line", "[" + json), ("strings", String(repeating: "\"a\",", count: 1 << 20)),
            ("string", "\"" + json + "\""),
            ("keys", "{" + (0..<100_000).map { "\"key\($0)\":0," }.joined() + "\"a\":0}"),
        ] {
            let time = ProcessorTime.of { #expect(storeKit(text) != nil, "\(name)") }
            #expect(time < .seconds(30), "\(name) took \(time)")
        }
    }

    @Test func textThatLooksLikeAReferenceIsText() throws {
        let text = """
            cornerstore-catalog: 1
            apps:
              - bundleID: com.example.a
                name: "Tip: *really*, &c"
            """
        #expect(yaml(text) == nil)
    }

    @Test(arguments: [
        "", "---", "...", "a", "---\na: 1\n---\nb: 2", "!!binary aGk=", "? [a]\n: b", "{[a]: b}", "\u{0}", "\t- a",
        "%YAML 9.9\n---\na", "a: b: c",
        "cornerstore-catalog: 2", "cornerstore-catalog: 1", "cornerstore-catalog: 1\napps: 7",
        "cornerstore-catalog: 1\napps: [7]",
        "cornerstore-catalog: 1\ncornerstore-catalog: 1\napps: []", "cornerstore-catalog: 1\n<<: {apps: []}",
        "cornerstore-catalog: 1\napps: [{bundleID: com.example.a}, {bundleID: com.example.a}]",
        "cornerstore-catalog: 1\napps: [{bundleID: a b}]",
    ])
    func strangeYAMLIsRefused(text: String) { #expect(yaml(text) != nil) }

    /// Values of every kind.
    private static let strangeValues: [JSONValue] = [
        .null, .bool(true), .number("1e999"), .number("-1"), .number("99999999999999999999"), .string(""),
        .string("\u{1F412}"), .array([]),
        .array([.null]), .object([:]), .object(["": .null]), .array([.object(["productID": .number("1")])]),
    ]

    /// Every value of a good document replaced by every other kind of value: taken or refused, and what is taken can be
    /// written.
    @Test func wrongTypesEverywhereInXcodesFile() throws {
        let app = try CatalogFixtures.documentedApp()
        let source = try JSONParser.parse(Array(StoreKitConfigurationFile.text(of: app).text.utf8), file: "a").value
        var refused = 0
        for variant in source.variants(Self.strangeValues) {
            let bytes = Array(variant.xcodeText.utf8)
            guard let read = try? StoreKitConfigurationFile.read(bytes, file: "a", bundleID: "com.example") else {
                refused += 1
                continue
            }
            let again = StoreKitConfigurationFile.text(of: try #require(read.apps.first)).text
            #expect(storeKit(again) == nil)
        }
        #expect(refused > 500)
    }

    /// The same of a document in our own format, with fewer values.
    @Test func wrongTypesEverywhereInOurFile() throws {
        let own = try YAMLParser.parse(Array(try CatalogFixtures.documentedYAML().utf8), file: "a").value
        for variant in own.variants(Array(Self.strangeValues.prefix(6))) {
            let text = YAMLText.text(of: variant, order: [])
            guard let read = try? CornerstoreCatalogFile.read(Array(text.utf8), file: "a").apps else { continue }
            #expect(
                try CornerstoreCatalogFile.read(Array(CornerstoreCatalogFile.text(of: read).utf8), file: "a").apps
                    == read)
        }
    }

    @Test func truncatedAndDamagedFilesAreRefusedOrRead() throws {
        let app = try CatalogFixtures.documentedApp()
        let json = Array(StoreKitConfigurationFile.text(of: app).text.utf8)
        for length in stride(from: 0, to: json.count - 2, by: 7) {
            #expect(throws: CatalogError.self) {
                try StoreKitConfigurationFile.read(Array(json[..<length]), file: "a", bundleID: nil)
            }
        }
        let yaml = Array(try CatalogFixtures.documentedYAML().utf8)
        var random = SeededGenerator(seed: 7)
        for round in 0..<600 {
            var damaged = round.isMultiple(of: 2) ? json : yaml
            for _ in 0..<3 {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if round.isMultiple(of: 2) {
                _ = try? StoreKitConfigurationFile.read(damaged, file: "a", bundleID: nil)
            } else {
                _ = try? CornerstoreCatalogFile.read(damaged, file: "a")
            }
        }
    }
}

extension JSONValue {
    /// The value with each of its parts in turn replaced by each of `others`, or taken out of its object.
    fileprivate func variants(_ others: [JSONValue]) -> [JSONValue] {
        var variants = others
        switch self {
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                for variant in element.variants(others) {
                    var copy = elements
                    copy[index] = variant
                    variants.append(.array(copy))
                }
            }
        case .object(let members):
            for (key, member) in members {
                var without = members
                without[key] = nil
                variants.append(.object(without))
                for variant in member.variants(others) {
                    var copy = members
                    copy[key] = variant
                    variants.append(.object(copy))
                }
            }
        default: break
        }
        return variants
    }
}
