import ContentDownloads
import Foundation
import MerchantWire
import StoreKit

/// The folder of content: `ITEM/VERSION/content`, beside `version.json`, which says what it is of.
///
/// The file has its name only when it is whole and right, so that a version is there wholly or not at all.
struct ContentLibrary: Sendable {
    private static let largestVersion = 64 << 10

    private let folder: URL

    /// Makes the folder, and keeps it out of backups: the merchant has it all.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    init(folder: URL) throws(MerchantClientError) {
        self.folder = folder
        try folder.makePrivateFolder()
        BackupExclusion.exclude(folder)
    }

    /// The versions of an item that are there, lowest first.
    func versions(of item: ContentItemID) -> [MerchantContent] {
        known(item).compactMap { held(item, $0) }
    }

    /// The versions of an item that have a place, whole or not, lowest first.
    func known(_ item: ContentItemID) -> [Int64] {
        guard let place = place(of: item) else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
        return names.compactMap { Int64($0) }.sorted()
    }

    /// A version that is there.
    func held(_ item: ContentItemID, _ version: Int64) -> MerchantContent? {
        guard let place = place(of: item, version), let known = description(in: place), known.item == item,
            known.version == version
        else { return nil }
        let file = Self.file(in: place)
        var status = stat()
        guard lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == off_t(known.size)
        else { return nil }
        return MerchantContent(known, file: file)
    }

    /// The version that a download was begun of, when it is not whole yet and no later one is.
    func begun(_ item: ContentItemID) -> (version: ContentVersion, received: Int64)? {
        for version in known(item).reversed() {
            guard held(item, version) == nil else { return nil }
            guard let folder = place(of: item, version), let known = description(in: folder), known.item == item,
                known.version == version
            else { continue }
            return (known, ContentDownload.received(for: Self.file(in: folder)))
        }
        return nil
    }

    /// Makes the place of a version and writes down what will be there.
    ///
    /// - Returns: where the file goes.
    /// - Throws: ``MerchantClientError``: `badAnswer` when the merchant describes no file, `storage`.
    func prepare(_ version: ContentVersion) throws(MerchantClientError) -> URL {
        guard version.version > 0, (0...MerchantLimits.content).contains(version.size),
            let place = place(of: version.item, version.version)
        else { throw MerchantClientError(.badAnswer, "the merchant describes no file that can be downloaded") }
        try place.makePrivateFolder()
        guard description(in: place) != version else { return Self.file(in: place) }
        // Another file under the same version, as after the merchant was restored from a backup.
        ContentDownload.remove(Self.file(in: place))
        do {
            try BoundedFile.write(
                JSONEncoder().encode(version), to: place.appendingPathComponent("version.json"))
        } catch {
            throw MerchantClientError(storage: error)
        }
        return Self.file(in: place)
    }

    /// Takes away what came of versions before one that is there: nobody will ask for the rest.
    func removeUnfinished(of item: ContentItemID, before version: Int64) {
        for older in known(item) where older < version && held(item, older) == nil { try? remove(item, older) }
    }

    /// Takes a version away, whole or not.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    func remove(_ item: ContentItemID, _ version: Int64) throws(MerchantClientError) {
        guard let place = place(of: item, version), FileManager.default.fileExists(atPath: place.path) else { return }
        // First the name by which it counts as there.
        unlink(Self.file(in: place).path)
        do { try FileManager.default.removeItem(at: place) } catch {
            throw MerchantClientError(.storage, "cannot remove \(place.path): \(error.localizedDescription)")
        }
    }

    private func description(in place: URL) -> ContentVersion? {
        BoundedFile.read(place.appendingPathComponent("version.json"), limit: Self.largestVersion).flatMap {
            try? JSONDecoder().decode(ContentVersion.self, from: $0)
        }
    }

    private func place(of item: ContentItemID) -> URL? {
        FileNames.name(item.rawValue).map { folder.appendingPathComponent($0, isDirectory: true) }
    }

    private func place(of item: ContentItemID, _ version: Int64) -> URL? {
        place(of: item)?.appendingPathComponent("\(version)", isDirectory: true)
    }

    private static func file(in place: URL) -> URL { place.appendingPathComponent("content") }
}
