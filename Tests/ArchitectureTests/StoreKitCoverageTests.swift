import Foundation
import Testing

@Suite("StoreKit has Apple's symbols, and its page says so", .timeLimit(.minutes(1)))
struct StoreKitCoverageTests {
    /// Read once for both tests.
    private static let reading = Result { () throws -> StoreKitCoverage in
        let paths = SourceTree.files(below: "Sources/StoreKit").filter { $0.hasSuffix(".swift") }
        #expect(paths.count > 20)
        let sources = try paths.map { SwiftSource(path: $0, text: try SourceTree.text(of: $0)) }
        return StoreKitCoverage(StoreKitSymbols.all, sources)
    }

    private static func coverage() throws -> StoreKitCoverage { try reading.get() }

    @Test func everySymbolIsThereAndNoOther() throws {
        for problem in try Self.coverage().problems { Issue.record("\(problem)") }
    }

    @Test func thePageIsFresh() throws {
        let page = try Self.coverage().page
        let file = SourceTree.root.appending(path: StoreKitCoverage.path)
        if ProcessInfo.processInfo.environment["CORNERSTORE_WRITE_PAGES"] == "1" {
            try Data(page.utf8).write(to: file)
        }
        let written = try? SourceTree.text(of: StoreKitCoverage.path)
        #expect(written == page, "\(StoreKitCoverage.path) is stale; run make pages")
    }

    // MARK: The comparison itself

    @Test(arguments: [
        ("public override init()", "init()"),
        ("open func add(_ payment: SKPayment)", "func add(_: SKPayment)"),
        (
            "func a(b c: [String: Any], d: ((Bool, (any Error)?) -> Void)? = nil) async throws -> Int",
            "func a(b: [String: Any], d: ((Bool, (Error)?) -> Void)?) async throws -> Int"
        ),
        ("open class func `default`() -> SKPaymentQueue", "static func default() -> SKPaymentQueue"),
        ("open weak var delegate: (any SKRequestDelegate)?", "var delegate: (SKRequestDelegate)?"),
        ("public let SKErrorDomain = \"            \"", "let SKErrorDomain"),
        ("open class SKRequest: NSObject, @unchecked Sendable", "class SKRequest: NSObject"),
        ("nonisolated(nonsending) open func a() async", "func a() async"),
        ("public enum `Type`: UInt, Sendable", "enum Type: UInt"), ("case `default` = 0", "case default = 0"),
    ])
    func aDeclarationIsReducedToWhatACallerSees(text: String, canonical: String) {
        #expect(PublicDeclarations.canonical(text) == canonical)
    }

    private static let sample = SwiftSource(
        path: "A.swift",
        text: """
            /// public func comment() {}
            public let SKConstant = "func no()"
            open class SKThing: NSObject, Sendable {
                private var hidden = { (a: Int) in a }
                /// A unit.
                public enum Unit: Int { case one = 1
                    case two = 2
                }
                @available(
                    *, unavailable, message: "do that instead"
                )
                open func old(
                    _ x: Int, with y: (Int) -> Void = { print($0) }
                ) -> Int { let z = 1; func inner() {}; return z }
                open func new() async
                    -> Int
                { 1 }
                func internalOne() {}
            }
            @available(*, unavailable, message: "no")
            public protocol SKOther: AnyObject {
                func required(_ a: Int)
            }
            """)

    @Test func declarationsAreReadFromText() {
        let found = PublicDeclarations(Self.sample).declarations
        #expect(
            found.map { "\($0.container ?? "-"): \($0.text)" } == [
                "-: let SKConstant", "-: class SKThing: NSObject", "SKThing: enum Unit: Int",
                "SKThing.Unit: case one = 1", "SKThing.Unit: case two = 2",
                "SKThing: func old(_: Int, with: (Int) -> Void) -> Int", "SKThing: func new() async -> Int",
                "-: protocol SKOther: AnyObject", "SKOther: func required(_: Int)",
            ])
        #expect(found.map(\.unavailable) == [nil, nil, nil, nil, nil, "do that instead", nil, "no", "no"])
        #expect(found.map(\.line) == [2, 3, 6, 6, 7, 12, 15, 21, 22])
    }

    @Test func whatIsMissingPresentAgainstTheListOrNotApplesIsFound() {
        let symbols = StoreKitSymbols.parse(
            """
            let SKConstant
            class SKThing: NSObject
                func old(_ x: Int, with y: (Int) -> Void) -> Int
                func new() async -> Int | absent: too new
                func gone()
            enum SKThing.Unit: Int
                case one = 1
                case two = 3
            protocol SKOther: AnyObject
                func required(_ a: Int)
            """)
        let problems = StoreKitCoverage(symbols, [Self.sample]).problems
        #expect(
            problems == [
                "A.swift:15: the list says absent: SKThing.func new() async -> Int",
                "Sources/StoreKit declares no SKThing.func gone()",
                "Sources/StoreKit declares no SKThing.Unit.case two = 3",
                "A.swift:7: not in the list of Apple's symbols: SKThing.Unit.case two = 2",
            ])
    }
}
