import Foundation
import Testing

/// Real receipts that others published, outside the repository; tests that need them are skipped without them.
enum Fixtures {
    static let directory: URL = {
        if let path = ProcessInfo.processInfo.environment["CORNERSTORE_FIXTURES"] { return URL(fileURLWithPath: path) }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared/fixtures")
    }()

    static let arePresent = FileManager.default.fileExists(atPath: directory.appendingPathComponent("README.md").path)

    static func names(in folder: String, ending suffix: String) -> [String] {
        let found = try? FileManager.default.contentsOfDirectory(atPath: directory.appendingPathComponent(folder).path)
        return (found ?? []).filter { $0.hasSuffix(suffix) }.sorted()
    }

    /// The app receipts, by name without `.b64`.
    static let appReceipts = names(in: "app-receipts", ending: ".b64").map { String($0.dropLast(4)) }
    static let appleReceipts = appReceipts.filter { $0.hasPrefix("Production") }
    static let generatedReceipts = appReceipts.filter { $0.hasPrefix("generated") }
    static let xcodeReceipts = appReceipts.filter { $0.hasPrefix("Xcode") }

    static func receipt(_ name: String) throws -> [UInt8] {
        let text = try Data(contentsOf: directory.appendingPathComponent("app-receipts/\(name).b64"))
        return Array(try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
    }

    static func decoded(_ name: String) throws -> [String: Any] {
        let data = try Data(contentsOf: directory.appendingPathComponent("app-receipts/\(name).decoded.json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    static func certificate(_ prefix: String) throws -> [UInt8] {
        let name = try #require(names(in: "certificates", ending: ".der").first { $0.hasPrefix(prefix) })
        return Array(try Data(contentsOf: directory.appendingPathComponent("certificates/\(name)")))
    }

    static func appleRoot() throws -> [UInt8] { try certificate("Apple_Root_CA__") }
}

extension [UInt8] {
    var hex: String { map { String(format: "%02x", $0) }.joined() }
}
