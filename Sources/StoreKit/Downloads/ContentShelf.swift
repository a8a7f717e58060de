import ContentPackages
import Foundation

/// The app's own place for hosted content, by product and version.
///
/// Finished downloads lie in the app's caches, which may be cleared once their transaction is finished: copy the content
/// here first, then finish the transaction. A version is on the shelf wholly or not at all, and an older one stays where it is,
/// usable, until it is removed. The shelf is kept out of backups, since the store has it all (``BackupExclusion``).
///
///     let shelf = try ContentShelf(folder: applicationSupport.appendingPathComponent("Books"))
///     let book = try shelf.install(download)            // in updatedDownloads, when it is finished
///     queue.finishTransaction(download.transaction)
///     open(book.contents.appendingPathComponent("chapter.txt"))
public struct ContentShelf: Sendable {
    /// Content that is on the shelf.
    public struct Item: Sendable, Hashable {
        /// The product whose content it is.
        public let productIdentifier: String
        /// `ContentVersion`, such as `1.0`.
        public let version: String
        /// Holds `ContentInfo.plist` and `Contents/`.
        public let folder: URL
        /// The files that the app sold.
        public var contents: URL { folder.appendingPathComponent("Contents", isDirectory: true) }
    }

    /// The shelf's folder.
    public let folder: URL

    /// Opens a shelf, making its folder when it is not there.
    ///
    /// - Throws: ``ContentShelfError`` with `folderUnusable` or `noSpace`.
    public init(folder: URL) throws {
        self.folder = folder
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ContentShelfError(error, "cannot make the folder", folder)
        }
        BackupExclusion.exclude(folder)
        removeLeftovers()
    }

    // MARK: What is there

    /// The highest version of a product's content; nil when there is none.
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

    /// The products among these that are on the shelf and of which the store has a higher version. Get those through
    /// ``ContentUpdater``, or a restore of your own.
    public func outdated(among products: [SKProduct]) -> [SKProduct] {
        products.filter { product in
            guard let offered = ContentVersion(product.downloadContentVersion),
                let held = newest(of: product.productIdentifier).flatMap({ ContentVersion($0.version) })
            else { return false }
            return held < offered
        }
    }

    // MARK: What changes it

    /// Copies the content of a finished download to the shelf. Done again, it gives what is there.
    ///
    /// On return the content is on the disk, and the transaction may be finished.
    ///
    /// - Throws: ``ContentShelfError``; nothing is on the shelf then that was not before.
    @discardableResult
    public func install(_ download: SKDownload) throws -> Item {
        guard download.state == .finished, let content = download.contentURL else {
            throw ContentShelfError(
                .notFinished, "the download of \(download.contentIdentifier) is not finished; install it when it is")
        }
        return try install(contentAt: content)
    }

    /// Copies an unpacked content folder, with `ContentInfo.plist` and `Contents/`, to the shelf.
    ///
    /// - Throws: ``ContentShelfError``; nothing is on the shelf then that was not before.
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
            // Somebody else may have been faster.
            if let known = self.item(info) { return known }
            throw ContentShelfError(.folderUnusable, "cannot rename to \(item.folder.path): \(reason)")
        }
        do { try FolderSync.syncOne(place) } catch {
            try? FileManager.default.removeItem(at: item.folder)
            throw ContentShelfError(error, "cannot write out", item.folder)
        }
        return item
    }

    /// Takes one version off the shelf.
    ///
    /// - Throws: ``ContentShelfError`` when it cannot be removed.
    public func remove(_ item: Item) throws {
        guard FileManager.default.fileExists(atPath: item.folder.path) else { return }
        do {
            // First out of sight, so that a version is never there in part.
            let aside = folder.appendingPathComponent(".\(UUID().uuidString)", isDirectory: true)
            try FileManager.default.moveItem(at: item.folder, to: aside)
            try FileManager.default.removeItem(at: aside)
        } catch {
            throw ContentShelfError(error, "cannot remove", item.folder)
        }
    }

    /// Takes all versions but the highest off the shelf.
    ///
    /// - Throws: ``ContentShelfError`` when one cannot be removed.
    public func removeOlderVersions(of productIdentifier: String) throws {
        for item in versions(of: productIdentifier).dropLast() { try remove(item) }
    }

    private func place(of productIdentifier: String) -> URL {
        folder.appendingPathComponent(DeviceFolder.fileName(productIdentifier), isDirectory: true)
    }

    private func item(_ info: ContentInfo) -> Item? {
        versions(of: info.productID).first { ContentVersion($0.version) == info.version }
    }

    /// What a process left that ended in the middle of copying. Another one that copies now would be robbed of its copy, so
    /// that only what is a day old counts.
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

/// Why the shelf did not do what was asked.
public struct ContentShelfError: Error, Sendable, Equatable {
    /// What a program needs to know of it.
    public enum Code: String, Sendable {
        /// The shelf's folder cannot be made, written or read.
        case folderUnusable
        /// The disk is full.
        case noSpace
        /// The download is not finished.
        case notFinished
        /// The folder is no content folder.
        case noContent
        /// The restore that was to bring a newer version failed.
        case notRestored
        /// The newer version could not be downloaded.
        case notDownloaded
        /// The updater is at work already.
        case busy
    }

    public var code: Code
    /// What was wrong, where, and what to do.
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
