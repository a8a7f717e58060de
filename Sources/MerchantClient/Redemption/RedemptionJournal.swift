import CornerstoreEncoding
import Crypto
import Foundation
import MerchantWire
import StoreKit

/// The unfinished redemptions, each in a separate file.
struct RedemptionJournal: Sendable {
    /// The largest size of a file in bytes: the evidence in Base64 inside JSON.
    private static let largestEntry = 8 << 20
    /// The largest number of files that are read. A device has a few.
    private static let mostEntries = 10_000

    private let folder: URL

    /// Creates the folder if necessary. The caller holds its lock.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    init(folder: URL) throws(MerchantClientError) {
        self.folder = folder
        try folder.makePrivateFolder()
        BoundedFile.removeLeftovers(in: folder)
    }

    /// Reads all entries. An unreadable file is renamed; StoreKit's queue and the merchant still know the purchase.
    func read() -> (entries: [RedemptionEntry], unreadable: Int) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        var (entries, unreadable): ([RedemptionEntry], Int) = ([], 0)
        for name in names.sorted().prefix(Self.mostEntries) where name.hasSuffix(".json") {
            let file = folder.appendingPathComponent(name)
            let entry = BoundedFile.read(file, limit: Self.largestEntry).flatMap {
                try? JSONDecoder().decode(RedemptionEntry.self, from: $0)
            }
            if let entry, self.file(entry.transactionID)?.lastPathComponent == name {
                entries.append(entry)
            } else {
                unreadable += 1
                rename(file.path, file.appendingPathExtension("unreadable").path)
            }
        }
        return (entries, unreadable)
    }

    /// Writes an entry completely or not at all.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    func write(_ entry: RedemptionEntry) throws(MerchantClientError) {
        guard let file = file(entry.transactionID) else {
            throw MerchantClientError(.storage, "the transaction has no identifier")
        }
        do {
            let bytes = try JSONEncoder().encode(entry)
            guard bytes.count <= Self.largestEntry else {
                throw MerchantClientError(.storage, "the receipt of \(bytes.count) bytes is too large to save")
            }
            try BoundedFile.write(bytes, to: file)
        } catch {
            throw MerchantClientError(storage: error)
        }
    }

    func forget(_ transactionID: String) {
        if let file = file(transactionID) { unlink(file.path) }
    }

    private func file(_ transactionID: String) -> URL? {
        FileNames.name(transactionID).map { folder.appendingPathComponent("\($0).json") }
    }
}

/// File names made from identifiers.
enum FileNames {
    /// Returns a file name for any text, inside its folder: all bytes except letters, digits, `-`, `_` and inner dots
    /// are encoded. A name that is too long for a file system is replaced by `=` and the text's SHA-256. Nil for an
    /// empty text.
    static func name(_ text: String) -> String? {
        let name = text.utf8.percentEncodedFileName()
        guard !name.isEmpty else { return nil }
        guard name.utf8.count > 200 else { return name }
        return "=" + Hexadecimal.encoded(SHA256.hash(data: Data(text.utf8)))
    }
}

extension URL {
    /// Creates the folder, readable by the user only.
    func makePrivateFolder() throws(MerchantClientError) {
        do {
            try FileManager.default.createDirectory(
                at: self, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw MerchantClientError(.storage, "cannot create \(path): \(error.localizedDescription)")
        }
    }
}
