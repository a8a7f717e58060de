import ContentPackages
import Foundation
import TestSupport
import Testing

@Suite("Bad packages are refused with the right reason", .timeLimit(.minutes(1)))
struct BadPackageTests {
    @Test func thereAreEnoughBadPackages() {
        #expect(BadPackage.all.count >= 40)
        #expect(Set(BadPackage.all.map(\.name)).count == BadPackage.all.count)
        // Every rule has at least one.
        let rules = Set(BadPackage.all.map(\.rule))
        #expect(Set(ContentFinding.Rule.allCases).subtracting(rules).isEmpty)
    }

    @Test(arguments: BadPackage.all)
    func isRefusedForItsReason(_ bad: BadPackage) async throws {
        try await TemporaryDirectory.with { directory in
            let file = try write(bad, directory)
            let findings = try ContentCheck.findings(
                inPackage: file, expecting: bad.expectation, limits: bad.limits)
            #expect(ContentFolder.rules(findings) == [bad.rule.rawValue])
            for finding in findings {
                #expect(finding.message.hasSuffix(".") && finding.advice.hasSuffix("."))
            }
        }
    }

    /// What unpacking does not refuse is within its folder all the same.
    @Test(arguments: BadPackage.all)
    func unpackingLeavesNothingBehindAndNothingOutside(_ bad: BadPackage) async throws {
        try await TemporaryDirectory.with { directory in
            let file = try write(bad, directory)
            let place = directory.url.appending(path: "place")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
            let folder = place.appending(path: "content")
            do {
                try ContentPackage.open(file: file, limits: bad.limits).unpack(into: folder, limits: bad.limits)
                #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["content"])
            } catch let error as ContentPackageError {
                #expect(error.code == .refused)
                // Where there is a sum over the bytes, the one over the packed bytes is the check's alone.
                let rules = bad.rule == .checksum ? [bad.rule, .data] : [bad.rule]
                #expect(Set(rules.map(\.rawValue)).isSuperset(of: ContentFolder.rules(error.findings)))
                #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
            }
            #expect(
                Set(try FileManager.default.contentsOfDirectory(atPath: directory.url.path)) == ["bad.pkg", "place"])
        }
    }

    private func write(_ bad: BadPackage, _ directory: TemporaryDirectory) throws -> URL {
        let file = directory.url.appending(path: "bad.pkg")
        try Data(bad.bytes()).write(to: file)
        if let length = bad.length { #expect(truncate(file.path, Int(length)) == 0) }
        return file
    }

    @Test func allProblemsAreReportedAtOnce() async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appending(path: "bad.pkg")
            let forge = XarForge(members: [
                .file("ContentInfo.plist", XarForge.info(version: "first")), .file("stray", "x"),
                .folder(
                    "Contents",
                    [
                        .file("run", "#!/bin/sh\n"), .link("out", to: "/etc"),
                        XarForge.Member(name: "pipe", type: "fifo"),
                        XarForge.Member(
                            name: "damaged", contents: [1, 2, 3], data: ["extracted": String(repeating: "0", count: 64)]
                        ),
                        XarForge.Member(name: "both", mode: "4755", contents: [1]),
                    ]),
            ])
            try Data(forge.package()).write(to: file)
            let findings = try ContentCheck.findings(inPackage: file)
            #expect(
                ContentFolder.rules(findings) == [
                    "info-keys", "layout", "executable-code", "outside-link", "special-file", "checksum", "setuid",
                    "executable-bit",
                ])
            #expect(findings.first { $0.rule == .checksum }?.path == "Contents/damaged")
        }
    }

    /// The link `l` and a file named `l/sub/evil` at one place: such a package cannot be unpacked on any device.
    @Test func aPathThroughASymbolicLinkIsRefused() async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appending(path: "bad.pkg")
            let forge = XarForge.content([.link("l", to: "a.txt"), .file("l/sub/evil", "x")])
            try Data(forge.package()).write(to: file)
            let findings = try ContentCheck.findings(inPackage: file)
            #expect(ContentFolder.rules(findings) == ["layout", "name"])
            #expect(Set(findings.map(\.path)) == ["Contents/l/sub/evil"])
            let folder = directory.url.appending(path: "content")
            #expect(throws: ContentPackageError.self) { try ContentPackage.open(file: file).unpack(into: folder) }
        }
    }

    @Test func manyFindingsOfOneRuleAreCounted() async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appending(path: "bad.pkg")
            let links = (0..<250).map { XarForge.Member.link("l\($0)", to: "/") }
            try Data(XarForge.content(links).package()).write(to: file)
            let findings = try ContentCheck.findings(inPackage: file)
            #expect(findings.count == ContentCheck.mostFindingsOfARule + 1)
            #expect(findings.last?.message == "There are 150 more findings of this rule.")
        }
    }
}
