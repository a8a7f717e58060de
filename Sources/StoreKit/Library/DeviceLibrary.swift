import ContentDownloads
import Foundation
import StoreWire

/// The files of the items that an account owns, on this device. They belong to the customer, not to an app:
///
///     DEVICE/library/ENVIRONMENT/ACCOUNT/NUMBER/first-branch.wav    a file, complete and verified
///     DEVICE/library/ENVIRONMENT/ACCOUNT/NUMBER/.sha256             its digest
///     DEVICE/library/ENVIRONMENT/ACCOUNT/NUMBER/.incoming/          the part of a download, and its lock
///     DEVICE/library/ENVIRONMENT/ACCOUNT/orders/NUMBER.json         an item whose files are still to be downloaded
///
/// A file gets its name in one step. A replaced file stays until the new one is complete.
package struct DeviceLibrary: Sendable {
    /// The state of a file on this device.
    package enum State: String, Sendable, Encodable {
        /// The device does not have the file.
        case missing
        /// A part of the file has arrived.
        case partial
        /// The device has the file.
        case downloaded
        /// The store has another file for the item now.
        case outdated
    }

    /// The largest file of an item, in bytes: 64 GiB.
    static let largestFile: Int64 = 64 << 30
    /// The most addresses requested in a row when each of them has expired.
    private static let addressesAtOnce = 3
    /// The longest order, in bytes: an album of thousands of songs.
    private static let largestOrder = 4 << 20

    private let folder: URL

    /// Opens the library of an account. The device's folder is created when it does not exist.
    /// - Throws: ``DeviceError``.
    package init(device: URL, environment: StoreEnvironment, account: AccountID) throws {
        let account = DeviceFolder.fileName(account.rawValue)
        folder = try DeviceFolder(device).url.appendingPathComponent(
            "library/\(environment.name)/\(account)", isDirectory: true)
    }

    // MARK: Files

    private func place(_ item: Int64) -> URL { folder.appendingPathComponent(String(item), isDirectory: true) }
    private func digestFile(_ item: Int64) -> URL { place(item).appendingPathComponent(".sha256") }
    private func incoming(_ item: Int64) -> URL { place(item).appendingPathComponent(".incoming/file") }

    /// The location of a file, whether or not it is there.
    package func url(of file: ItemFileDescription) -> URL {
        place(file.item).appendingPathComponent(file.name.isEmpty ? "file" : DeviceFolder.fileName(file.name))
    }

    /// The state of a file.
    package func state(of file: ItemFileDescription) -> State {
        guard let digest = digest(of: file), file.sha256 == nil || file.sha256 == digest else {
            if received(file) > 0 { return .partial }
            return Self.size(url(of: file)) == nil ? .missing : .outdated
        }
        return .downloaded
    }

    /// The number of bytes of a download that has begun.
    package func received(_ file: ItemFileDescription) -> Int64 {
        Self.size(incoming(file.item)) ?? ContentDownload.received(for: incoming(file.item))
    }

    /// The digest of a complete file; nil when the file is not there.
    private func digest(of file: ItemFileDescription) -> String? {
        // A file that has arrived and was not yet given its name: the digest may be its digest already.
        guard Self.size(incoming(file.item)) == nil, Self.size(url(of: file)) != nil else { return nil }
        return BoundedFile.read(digestFile(file.item), limit: 256).map {
            String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// Downloads a file, or the rest of it, unless the device has it. Wrong bytes are downloaded once more from zero.
    /// Cancelling the task stops the download.
    /// - Parameters:
    ///   - store: the store's URL, for addresses that are paths.
    ///   - grant: asks the store for the file's address.
    ///   - progress: receives the number of bytes that have arrived in all and the file's length.
    /// - Returns: the location of the file.
    /// - Throws: ``DeviceError`` (`inUse` while another process downloads the file), ``ContentDownloadError``,
    ///   ``InvalidGrant``, and the error of `grant`. The bytes that arrived are kept unless they are wrong.
    package func download(
        _ file: ItemFileDescription, at store: URL, grant: () async throws -> ContentGrant,
        progress: @Sendable (Int64, Int64) -> Void = { _, _ in }
    ) async throws -> URL {
        let part = incoming(file.item)
        try DeviceFolder.makeFolder(part.deletingLastPathComponent())
        let lock = try FolderLock(part.deletingLastPathComponent())
        defer { lock.release() }
        var hasBeenWrong = false
        for attempt in 1... {
            guard
                let content = GrantedContent(
                    try await grant(), at: store, for: ProductID("item.\(file.item)"), largest: Self.largestFile)
            else { throw InvalidGrant() }
            if digest(of: file) == content.sha256, Self.size(url(of: file)) == content.length { break }
            do {
                try checkRoom(for: content.length - min(received(file), content.length))
                try await ContentDownload(
                    address: content.address, length: content.length, sha256: content.sha256, file: part
                ).run { progress($0, content.length) }
                try install(file, content.sha256)
                break
            } catch let error as ContentDownloadError
                where error.code == .addressExpired && attempt < Self.addressesAtOnce
            {
            } catch let error as ContentDownloadError
                where [.wrongDigest, .wrongLength].contains(error.code) && !hasBeenWrong && !Task.isCancelled
            {
                // Once more from zero, from an address of its own: the file may have been replaced meanwhile.
                hasBeenWrong = true
                ContentDownload.remove(part)
            }
        }
        return url(of: file)
    }

    /// The store's grant cannot be used: another item's, an unreasonable length, or no address.
    package struct InvalidGrant: Error {}

    private func checkRoom(for bytes: Int64) throws(ContentDownloadError) {
        var status = statvfs()
        guard statvfs(folder.path, &status) == 0 else { return }
        let (free, overflow) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int64(clamping: status.f_frsize))
        guard overflow || free >= bytes else {
            throw ContentDownloadError(.noSpace, "not enough disk space: \(bytes) bytes needed, \(free) free")
        }
    }

    /// Gives a complete file its name, and removes the item's earlier files.
    private func install(_ file: ItemFileDescription, _ sha256: String) throws {
        let place = place(file.item)
        // The digest first: as long as the incoming file is there, the digest is not believed.
        try BoundedFile.write(Data((sha256 + "\n").utf8), to: digestFile(file.item))
        guard rename(incoming(file.item).path, url(of: file).path) == 0 else {
            throw DeviceError.system("cannot rename to", url(of: file))
        }
        try FolderSync.syncOne(place)
        let kept = [".sha256", ".incoming", url(of: file).lastPathComponent]
        for name in Self.names(in: place) where !kept.contains(name) {
            unlink(place.appendingPathComponent(name).path)
        }
    }

    private static func size(_ file: URL) -> Int64? {
        var status = stat()
        guard lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    private static func names(in folder: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    }

    // MARK: Orders

    private var orders: URL { folder.appendingPathComponent("orders", isDirectory: true) }
    private func orderFile(_ item: Int64) -> URL { orders.appendingPathComponent("\(item).json") }

    /// The items whose files are still to be downloaded, by their numbers.
    func openOrders() -> [LibraryOrder] {
        Self.names(in: orders).compactMap { name in
            name.hasSuffix(".json") ? Int64(name.dropLast(5)).flatMap(order) : nil
        }.sorted { $0.item < $1.item }
    }

    /// The order of an item; nil without one.
    func order(of item: Int64) -> LibraryOrder? {
        guard let bytes = BoundedFile.read(orderFile(item), limit: Self.largestOrder),
            let order = try? JSONDecoder().decode(LibraryOrder.self, from: bytes), order.item == item
        else { return nil }
        return order
    }

    /// Remembers an order, so that the next launch completes it.
    /// - Throws: ``DeviceError``.
    func save(_ order: LibraryOrder) throws {
        try DeviceFolder.makeFolder(orders)
        let bytes = try JSONEncoder().encode(order)
        try BoundedFile.write(bytes, to: orderFile(order.item))
    }

    /// Forgets an order.
    func forget(_ item: Int64) { unlink(orderFile(item).path) }
}

/// An item that the customer is buying, or has bought, and whose files are to be downloaded.
struct LibraryOrder: Codable, Sendable, Equatable {
    /// The item's number.
    var item: Int64
    /// The item's name.
    var name: String
    /// The idempotency key of the purchase. It stays the same until the store has answered.
    var key: UUID
    /// The files to download.
    var files: [ItemFileDescription]
    /// The price at which the customer asked to buy, while the request waits for approval; nil otherwise.
    var asked: Money?
}
