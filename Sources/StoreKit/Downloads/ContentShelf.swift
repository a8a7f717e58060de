import ContentPackages
import Foundation

/// The app's own folder of hosted content, by product and version.
///
/// Finished downloads are in the app's caches, which may be cleared once the app has finished the transaction. Copy the
/// content to the shelf first, then finish the transaction. The shelf contains a version completely or not at all.
/// Older versions stay usable until they are removed. The shelf is excluded from backups, because the store has all its
/// content (``BackupExclusion``).
///
///     let shelf = try ContentShelf(folder: applicationSupport.appendingPathComponent("Books"))
///     let book = try shelf.install(download)            // in updatedDownloads, when it is finished
///     queue.finishTransaction(download.transaction)
///     open(book.contents.appendingPathComponent("chapter.txt"))
public struct ContentShelf: Sendable {
    /// One version of a product's content on the shelf.
    public struct Item: Sendable, Hashable {
        /// The identifier of the product.
        public let productIdentifier: String
        /// The content's version (`ContentVersion`), such as `1.0`.
        public let version: String
        /// The folder with `ContentInfo.plist` and `Contents/`.
        public let folder: URL
        /// The folder with the product's files.
        public var contents: URL { folder.appendingPathComponent("Contents", isDirectory: true) }
    }

    /// The shelf's folder.
    public let folder: URL

    /// Opens a shelf, and creates its folder if it does not exist.
    ///
    /// - Throws: ``ContentShelfError`` with `folderUnusable` or `noSpace`.
    public init(folder: URL) throws {
        self.folder = folder
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ContentShelfError(error, "cannot create the folder", folder)
        }
        BackupExclusion.exclude(folder)
        removeLeftovers()
    }

    // MARK: Contents

    /// The highest version of a product's content; nil when the shelf has none.
    public func newest(of productIdentifier: String) -> Item? { versions(of: productIdentifier).last }

    /// All versions of a product's content, lowest first.
    public func versions(of productIdentifier: String) -> [Item] {
        let folder = place(of: productIdentifier)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.compactMap { ContentVersion($0) }.sorted().map { version in
            Item(
                productIdentifier: productIdentifier, version: version.text,
                folder: folder.appendingPathComponent(version.text, isDirectory: true))
        }
    }

    /// The products whose content is on the shelf and has a higher version in the store. Update them with
    /// ``ContentUpdater``, or with a restore of your own.
    public func outdated(among products: [SKProduct]) -> [SKProduct] {
        products.filter { product in
            guard let offered = ContentVersion(product.downloadContentVersion),
                let held = newest(of: product.productIdentifier).flatMap({ ContentVersion($0.version) })
            else { return false }
            return held < offered
        }
    }

    // MARK: Changes

    /// Copies the content of a finished download to the shelf. If the shelf has this version, it returns the existing
    /// item.
    ///
    /// On return the content is on disk, and the app may finish the transaction.
    ///
    /// - Throws: ``ContentShelfError``. The shelf is then unchanged.
    @discardableResult
    public func install(_ download: SKDownload) throws -> Item {
        guard download.state == .finished, let content = download.contentURL else {
            throw ContentShelfError(
                .notFinished, "the download of \(download.contentIdentifier) is not finished; install it afterwards")
        }
        return try install(contentAt: content)
    }

    /// Copies an unpacked content folder, with `ContentInfo.plist` and `Contents/`, to the shelf.
    ///
    /// - Throws: ``ContentShelfError``. The shelf is then unchanged.
    @discardableResult
    public func install(contentAt content: URL) throws -> Item {
        guard let info = ContentInfo(contentFolder: content) else {
            throw ContentShelfError(
                .noContent, "\(content.path) has no ContentInfo.plist that names a product and a version")
        }
        if let known = item(info) { return known }
        let place = place(of: info.productID)
        let item = Item(
            productIdentifier: info.productID, version: info.version.text,
            folder: place.appendingPathComponent(info.version.text, isDirectory: true))
        let aside = folder.appendingPathComponent(".\(UUID().uuidString)", isDirectory: true)
        do {
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: content, to: aside)
            try FolderSync.sync(aside)
        } catch {
            try? FileManager.default.removeItem(at: aside)
            throw ContentShelfError(error, "cannot copy the content to", folder)
        }
        guard rename(aside.path, item.folder.path) == 0 else {
            let reason = String(cString: strerror(errno))
            try? FileManager.default.removeItem(at: aside)
            // Another process may have installed the same version meanwhile.
            if let known = self.item(info) { return known }
            throw ContentShelfError(.folderUnusable, "cannot rename to \(item.folder.path): \(reason)")
        }
        do { try FolderSync.syncOne(place) } catch {
            try? FileManager.default.removeItem(at: item.folder)
            throw ContentShelfError(error, "cannot sync", item.folder)
        }
        return item
    }

    /// Removes one version from the shelf.
    ///
    /// - Throws: ``ContentShelfError`` when it cannot be removed.
    public func remove(_ item: Item) throws {
        guard FileManager.default.fileExists(atPath: item.folder.path) else { return }
        do {
            // Moves the folder away first, so that the shelf never contains part of a version.
            let aside = folder.appendingPathComponent(".\(UUID().uuidString)", isDirectory: true)
            try FileManager.default.moveItem(at: item.folder, to: aside)
            try FileManager.default.removeItem(at: aside)
        } catch {
            throw ContentShelfError(error, "cannot remove", item.folder)
        }
    }

    /// Removes all versions except the highest from the shelf.
    ///
    /// - Throws: ``ContentShelfError`` when a version cannot be removed.
    public func removeOlderVersions(of productIdentifier: String) throws {
        for item in versions(of: productIdentifier).dropLast() { try remove(item) }
    }

    private func place(of productIdentifier: String) -> URL {
        folder.appendingPathComponent(DeviceFolder.fileName(productIdentifier), isDirectory: true)
    }

    private func item(_ info: ContentInfo) -> Item? {
        versions(of: info.productID).first { ContentVersion($0.version) == info.version }
    }

    /// Removes unfinished copies of interrupted processes. It keeps copies of the last day, because another process may
    /// still be working on them.
    private func removeLeftovers() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            guard name.hasPrefix("."), UUID(uuidString: String(name.dropFirst())) != nil else { continue }
            let path = folder.appendingPathComponent(name)
            var status = stat()
            guard lstat(path.path, &status) == 0, time(nil) - status.st_ctim.tv_sec > 86400 else { continue }
            try? FileManager.default.removeItem(at: path)
        }
    }
}

/// The reason why the shelf or the updater failed.
public struct ContentShelfError: Error, Sendable, Equatable {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// The shelf's folder cannot be created, written or read.
        case folderUnusable
        /// The disk is full.
        case noSpace
        /// The download is not finished.
        case notFinished
        /// The folder is not a content folder.
        case noContent
        /// The restore that an update needs failed.
        case notRestored
        /// The download of the newer version failed.
        case notDownloaded
        /// The updater is already updating.
        case busy
    }

    /// The kind of failure; stable.
    public var code: Code
    /// The problem, where it occurred, and how to fix it.
    public var detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    init(_ error: any Error, _ what: String, _ place: URL) {
        self.init(
            error.isOutOfSpace ? .noSpace : .folderUnusable, "\(what) \(place.path): \(error.localizedDescription)")
    }
}
