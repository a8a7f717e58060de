import ContentPackages
import Foundation
import Testing

/// A package that is wrong in one way, and the rule by which it is refused.
struct BadPackage: Sendable, CustomTestStringConvertible {
    var name: String
    var rule: ContentFinding.Rule
    var expectation = ContentExpectation()
    var limits = ContentLimits.hosted
    /// The file's length is made this, without writing it, when it is not nil.
    var length: Int64?
    var bytes: @Sendable () -> [UInt8]

    var testDescription: String { name }

    init(
        _ name: String, _ rule: ContentFinding.Rule, expecting expectation: ContentExpectation = ContentExpectation(),
        limits: ContentLimits = .hosted, length: Int64? = nil, _ bytes: @escaping @Sendable () -> [UInt8]
    ) {
        self.name = name
        self.rule = rule
        self.expectation = expectation
        self.limits = limits
        self.length = length
        self.bytes = bytes
    }

    /// Good content, changed.
    static func changed(
        _ name: String, _ rule: ContentFinding.Rule, _ change: @escaping @Sendable (inout XarForge) -> Void
    ) -> BadPackage {
        BadPackage(name, rule) {
            var forge = XarForge.content()
            change(&forge)
            return forge.package()
        }
    }

    /// Good content with another member in `Contents`.
    static func with(
        _ name: String, _ rule: ContentFinding.Rule, _ members: @escaping @Sendable () -> [XarForge.Member]
    ) -> BadPackage {
        BadPackage(name, rule) { XarForge.content(members()).package() }
    }

    /// Good content with another file in `Contents`, whose `data` element or bytes are changed.
    static func file(
        _ name: String, _ rule: ContentFinding.Rule, _ contents: [UInt8] = Array(repeating: 65, count: 500),
        _ change: @escaping @Sendable (inout XarForge.Member) -> Void
    ) -> BadPackage {
        with(name, rule) {
            var member = XarForge.Member(name: "b.txt", contents: contents)
            change(&member)
            return [member]
        }
    }

    /// A product archive, its payload changed.
    static func payload(
        _ name: String, _ rule: ContentFinding.Rule, _ change: @escaping @Sendable (inout CpioForge) -> Void
    ) -> BadPackage {
        BadPackage(name, rule) {
            var forge = CpioForge.content()
            change(&forge)
            return forge.product().package()
        }
    }

    static let all = archives + sums + contents + infos + payloads
}
