import Foundation
import TestSupport

/// Real files that others published, found by `CORNERSTORE_FIXTURES` or beside the package. Tests that need them are
/// skipped without.
enum VerifyReceiptSamples {
    static let folder: URL? = {
        let named = ProcessInfo.processInfo.environment["CORNERSTORE_FIXTURES"].map { URL(fileURLWithPath: $0) }
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = named ?? package.deletingLastPathComponent().appendingPathComponent("shared/fixtures")
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }()

    /// Files of a folder whose names end so, in the order of their names.
    static func files(in name: String, ending suffix: String) throws -> [URL] {
        guard let folder else { return [] }
        return try FileManager.default.contentsOfDirectory(
            at: folder.appendingPathComponent(name), includingPropertiesForKeys: nil
        )
        .filter { $0.lastPathComponent.hasSuffix(suffix) }
        .sorted { $0.path < $1.path }
    }
}

extension [UInt8] {
    /// The bytes with one to four random changes: a byte replaced, dropped, doubled, or the end cut off.
    func damaged(with random: inout SeededGenerator, alphabet: [UInt8]) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0: bytes.removeSubrange(index...)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(bytes[index], at: index)
            case 3: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 4: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            default: bytes[index] = alphabet.randomElement(using: &random) ?? 0
            }
        }
        return bytes
    }
}
