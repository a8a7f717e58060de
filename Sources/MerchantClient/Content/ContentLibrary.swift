import ContentDownloads
import Foundation
import MerchantWire
import StoreKit

/// The folder of content: `ITEM/VERSION/content`, with its description in `version.json` beside it.
///
/// The file gets its name only when it is complete and verified, so a version is present completely or not at all.
struct ContentLibrary: Sendable {
    private static let largestVersion = 64 << 10

    private let folder: URL

    /// Creates the folder and excludes it from backups, because the merchant has all of its content.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    init(folder: URL) throws(MerchantClientError) {
        self.folder = folder
        try folder.makePrivateFolder()
        BackupExclusion.exclude(folder)
    }

    /// Returns the complete versions of an item, lowest first.
    func versions(of item: ContentItemID) -> [MerchantContent] {
        known(item).compactMap { held(item, $0) }
    }

    /// Returns all versions of an item that have a folder, complete or not, lowest first.
    func known(_ item: ContentItemID) -> [Int64] {
        guard let place = place(of: item) else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
        return names.compactMap { Int64($0) }.sorted()
    }

    /// Returns a complete version; nil when it is not on the disk.
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

    /// Returns the version of an unfinished download and the number of bytes received; nil when a later version is
    /// complete.
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

    /// Creates the folder of a version and writes its description.
    ///
    /// - Returns: the location of the file.
    /// - Throws: ``MerchantClientError``: `badAnswer` when the merchant's description is invalid, `storage`.
    func prepare(_ version: ContentVersion) throws(MerchantClientError) -> URL {
        guard version.version > 0, (0...MerchantLimits.content).contains(version.size),
            let place = place(of: version.item, version.version)
        else { throw MerchantClientError(.badAnswer, "the merchant's description of the file is invalid") }
        try place.makePrivateFolder()
        guard description(in: place) != version else { return Self.file(in: place) }
        // The same version with another file, for example after the merchant was restored from a backup.
        ContentDownload.remove(Self.file(in: place))
        do {
            try BoundedFile.write(
                JSONEncoder().encode(version), to: place.appendingPathComponent("version.json"))
        } catch {
            throw MerchantClientError(storage: error)
        }
        return Self.file(in: place)
    }

    /// Removes unfinished downloads of versions before a complete one.
    func removeUnfinished(of item: ContentItemID, before version: Int64) {
        for older in known(item) where older < version && held(item, older) == nil { try? remove(item, older) }
    }

    /// Removes a version, complete or not.
    ///
    /// - Throws: ``MerchantClientError`` with `storage`.
    func remove(_ item: ContentItemID, _ version: Int64) throws(MerchantClientError) {
        guard let place = place(of: item, version), FileManager.default.fileExists(atPath: place.path) else { return }
        // Remove the file first: without it, the version does not count as complete.
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
