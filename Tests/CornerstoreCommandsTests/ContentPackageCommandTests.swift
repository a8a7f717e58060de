import ContentPackages
import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct ContentPackageCommandTests {
    private static let product = "com.example.app.chapter1"

    private func withFolder(_ body: (TemporaryDirectory, String) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let folder = directory.path("Chapter 1")
            let made = await Capture.run(["content", "init", Self.product, folder, "--json"])
            #expect(made.status == 0)
            let report = try made.output.object()
            #expect(report["productId"] as? String == Self.product)
            #expect(report["version"] as? String == "1.0")
            try await body(directory, folder)
        }
    }

    @Test func fromANewFolderToACheckedPackage() async throws {
        try await withFolder { directory, folder in
            let checkedFolder = await Capture.run(["content", "check", folder])
            #expect(checkedFolder.status == 0)
            #expect(checkedFolder.output.contains("nothing is wrong"))
            let file = directory.path("chapter1.pkg")
            let built = await Capture.run(["content", "build", folder, "-o", file, "--json"])
            #expect(built.status == 0)
            let report = try built.output.object()
            #expect(report["productId"] as? String == Self.product)
            #expect((report["sha256"] as? String)?.count == 64)
            #expect(report["files"] as? Int == 2)
            let checked = await Capture.run([
                "content", "check", file, "--product", Self.product, "--above", "0.9", "--json",
            ])
            #expect(checked.status == 0)
            let document = try checked.output.object()
            #expect(document["valid"] as? Bool == true)
            #expect(document["version"] as? String == "1.0")
            #expect(document["length"] as? Int == report["length"] as? Int)
        }
    }

    @Test func optionsReplaceThePlist() async throws {
        try await withFolder { directory, folder in
            let file = directory.path("a.pkg")
            let built = await Capture.run([
                "content", "build", folder, "-o", file, "--product", "com.example.other", "--version", "2.10", "--json",
            ])
            #expect(built.status == 0)
            #expect(try built.output.object()["version"] as? String == "2.10")
            #expect(try ContentPackage.open(file: URL(filePath: file)).info.productID == "com.example.other")
            try FileManager.default.removeItem(atPath: folder + "/ContentInfo.plist")
            let both = ["--product", Self.product, "--version", "3"]
            #expect(await Capture.run(["content", "build", folder, "-o", file] + both).status == 0)
            let one = await Capture.run(["content", "build", folder, "-o", file, "--version", "3"])
            #expect(one.status == 2)
            #expect(one.errors.contains("--product"))
        }
    }

    @Test func findingsAreATableWithAdvice() async throws {
        try await withFolder { directory, folder in
            try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: folder + "/Contents/run.sh"))
            try Data("x".utf8).write(to: URL(filePath: folder + "/stray"))
            let file = directory.path("a.pkg")
            for arguments in [["check", folder], ["build", folder, "-o", file]] {
                let result = await Capture.run(["content"] + arguments)
                #expect(result.status == 1)
                #expect(result.output.contains("2 findings"))
                #expect(result.output.contains("executable-code") && result.output.contains("Contents/run.sh"))
                #expect(result.output.contains("advice"))
                let document = try await Capture.run(["content"] + arguments + ["--json"]).output.object()
                #expect(document["valid"] as? Bool == false)
                let findings = try #require(document["findings"] as? [[String: String]])
                #expect(Set(findings.map { $0["rule"] }) == ["executable-code", "layout"])
            }
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }

    @Test func mismatchesAreReported() async throws {
        try await withFolder { directory, folder in
            let file = directory.path("a.pkg")
            #expect(await Capture.run(["content", "build", folder, "-o", file]).status == 0)
            let result = await Capture.run([
                "content", "check", file, "--product", "com.example.other", "--above", "1.0",
            ])
            #expect(result.status == 1)
            #expect(result.output.contains("product") && result.output.contains("version"))
            let text = directory.path("text")
            try Data("no package".utf8).write(to: URL(filePath: text))
            let other = await Capture.run(["content", "check", text, "--json"])
            #expect(other.status == 1)
            #expect(other.output.contains("\"format\""))
        }
    }

    @Test func anExistingFolderIsNotOverwritten() async throws {
        try await withFolder { _, folder in
            let result = await Capture.run(["content", "init", Self.product, folder])
            #expect(result.status == 1)
            #expect(result.errors.contains("already"))
        }
    }
}
