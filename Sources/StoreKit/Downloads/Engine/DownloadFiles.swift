import ContentDownloads
import ContentPackages
import Foundation
import StoreWire

/// The files of one app's downloads in one environment, in the app's caches:
///
///     downloads/ID.pkg, ID.pkg.part    packages, until their content is unpacked
///     content/PRODUCT/ID/              unpacked: ContentInfo.plist and Contents/
///
/// `ID` is the transaction identifier.
struct DownloadFiles: Sendable {
    /// The folder of the app's caches in the environment.
    let folder: URL

    private var packages: URL { folder.appendingPathComponent("downloads", isDirectory: true) }
    private var contents: URL { folder.appendingPathComponent("content", isDirectory: true) }

    private func contents(of product: ProductID) -> URL {
        contents.appendingPathComponent(DeviceFolder.fileName(product.rawValue), isDirectory: true)
    }

    /// The package of a download.
    func package(of id: TransactionID) -> URL { packages.appendingPathComponent("\(id).pkg") }

    /// The folder of a download's content, which may not exist.
    func content(of entry: DownloadEntry) -> URL {
        contents(of: entry.productID).appendingPathComponent("\(entry.id)", isDirectory: true)
    }

    /// The number of bytes of a download on disk.
    func received(_ entry: DownloadEntry) -> Int64 {
        let package = package(of: entry.id)
        var status = stat()
        if lstat(package.path, &status) == 0 { return min(Int64(status.st_size), entry.length) }
        return min(ContentDownload.received(for: package), entry.length)
    }

    func hasContent(of entry: DownloadEntry) -> Bool { Self.isContent(content(of: entry)) }

    private static func isContent(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent("ContentInfo.plist").path)
    }

    /// Creates the folders that a download needs, and excludes them from backups.
    ///
    /// - Throws: an error of Foundation.
    func prepare(for entry: DownloadEntry) throws {
        for folder in [packages, contents(of: entry.productID)] {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        BackupExclusion.exclude(folder)
    }

    /// The free bytes on the disk of packages and content; nil when the system does not report them.
    var freeSpace: Int64? {
        var status = statvfs()
        guard statvfs(packages.path, &status) == 0 else { return nil }
        let (free, overflow) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int64(clamping: status.f_frsize))
        return overflow ? nil : free
    }

    func discardPackage(of id: TransactionID) { ContentDownload.remove(package(of: id)) }

    func discard(_ entry: DownloadEntry) {
        discardPackage(of: entry.id)
        try? FileManager.default.removeItem(at: content(of: entry))
    }

    // MARK: By product

    /// The content of a product in its highest version; of equal ones, the latest transaction's.
    func content(of product: ProductID) -> URL? {
        let found = Self.names(in: contents(of: product)).compactMap { name -> (ContentVersion?, TransactionID, URL)? in
            guard let id = TransactionID(name) else { return nil }
            let folder = contents(of: product).appendingPathComponent(name, isDirectory: true)
            guard Self.isContent(folder) else { return nil }
            return (ContentInfo(contentFolder: folder)?.version, id, folder)
        }
        return found.max { left, right in
            switch (left.0, right.0) {
            case (let left?, let right?) where left != right: left < right
            case (nil, _?): true
            case (_?, nil): false
            default: left.1 < right.1
            }
        }?.2
    }

    func deleteContent(of product: ProductID) { try? FileManager.default.removeItem(at: contents(of: product)) }

    // MARK: Cleaning up

    /// Removes the files that no open transaction needs, and partial files of a killed process. The caller holds the
    /// app's lock.
    /// - Parameter keepsContent: whether to keep finished content of transactions that the app has finished.
    func clear(keeping open: Set<TransactionID>, keepsContent: Bool) {
        for name in Self.names(in: packages) {
            let id = name.split(separator: ".").first.flatMap { TransactionID($0) }
            guard id.map(open.contains) != true else { continue }
            unlink(packages.appendingPathComponent(name).path)
        }
        for product in Self.names(in: contents) {
            let folder = contents.appendingPathComponent(product, isDirectory: true)
            for name in Self.names(in: folder) {
                let id = TransactionID(name)
                guard id.map(open.contains) != true, !keepsContent || id == nil else { continue }
                try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
            rmdir(folder.path)
        }
    }

    private static func names(in folder: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    }
}
