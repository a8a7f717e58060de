import ContentPackages
import Foundation
import TestSupport
import Testing

/// What the archivers of Debian make of our packages, and we of theirs.
@Suite("Other tools", .timeLimit(.minutes(1)))
struct OtherToolsTests {
    /// The path of the first program that is installed.
    private func program(_ paths: String...) throws -> String {
        try #require(
            paths.first(where: FileManager.default.isExecutableFile),
            "\(paths.joined(separator: " or ")) is not installed; run scripts/install-packages test")
    }

    /// Runs a program to its end.
    private func run(_ program: String, _ arguments: [String], in folder: URL) throws -> (status: Int32, output: String)
    {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ["LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"]
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    private static let files: [String: [UInt8]] = [
        "empty": [], "text.txt": Array(String(repeating: "The quick brown fox. ", count: 60_000).utf8),
        "sub/ä & b": [1, 2, 3], "sub/noise": (0..<4000).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31 >> 3) },
    ]

    private func build(_ directory: TemporaryDirectory) throws -> (source: URL, package: URL) {
        let source = directory.url.appending(path: "source")
        let package = directory.url.appending(path: "some.pkg")
        try ContentFolder.make(Self.files, at: source)
        try FileManager.default.createSymbolicLink(
            atPath: source.appending(path: "Contents/link").path, withDestinationPath: "sub/noise")
        try ContentPackageBuilder().build(folder: source, into: package)
        return (source, package)
    }

    @Test func bsdtarUnpacksOurs() async throws {
        let program = try program("/usr/bin/bsdtar")
        try await TemporaryDirectory.with { directory in
            let (source, package) = try build(directory)
            let folder = directory.url.appending(path: "theirs")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let result = try run(program, ["-xf", package.path], in: folder)
            #expect(result.status == 0, "\(result.output)")
            #expect(try ContentFolder.areEqual(folder, source))
        }
    }

    @Test func sevenZipTestsOurs() async throws {
        let program = try program("/usr/bin/7z", "/usr/bin/7zz")
        try await TemporaryDirectory.with { directory in
            let (_, package) = try build(directory)
            let result = try run(program, ["t", "-txar", package.path], in: directory.url)
            #expect(result.status == 0, "\(result.output)")
            #expect(result.output.contains("Everything is Ok"))
        }
    }

    @Test func weUnpackBsdtars() async throws {
        let program = try program("/usr/bin/bsdtar")
        try await TemporaryDirectory.with { directory in
            let (source, package) = try build(directory)
            try FileManager.default.removeItem(at: package)
            let result = try run(
                program, ["-cf", package.path, "--format=xar", "ContentInfo.plist", "Contents"], in: source)
            #expect(result.status == 0, "\(result.output)")
            let findings = try ContentCheck.findings(inPackage: package)
            #expect(findings.isEmpty, "\(findings)")
            let folder = directory.url.appending(path: "ours")
            try ContentPackage.open(file: package).unpack(into: folder)
            #expect(try ContentFolder.areEqual(folder, source))
        }
    }
}
