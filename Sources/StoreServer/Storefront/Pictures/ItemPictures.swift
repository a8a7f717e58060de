import BlobStorage
import Foundation
import Logging
import NIOPosix
import Store
import StoreWire
import Synchronization

/// Scales the pictures of items away from the event loops, and keeps recent results.
final class ItemPictures: Sendable {
    /// A file that cannot be shown, with the reason for the log.
    struct Unusable: Error {
        var reason: String
    }

    /// The state of a file that could not be shown.
    private struct FileState: Hashable {
        var path: String
        var modified: Int64
        var length: Int64
    }

    /// At most as many pictures are decoded at once as the machine has processors.
    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: ProcessInfo.processInfo.activeProcessorCount)
        pool.start()
        return pool
    }()

    /// Pictures of more pixels are decoded one at a time. The largest takes 512 MiB.
    private static let manyPixels = 16 << 20
    private static let large = NSLock()

    /// The quality of a JPEG whose address names none.
    private static let usualQuality = 85
    /// The largest side of a placeholder, in pixels.
    static let largestPlaceholder = 1_024

    private let results: Mutex<ScaledPictures>
    private let waiting = Mutex(0)
    private let mostWaiting: Int
    /// libgd does not free all memory after a damaged file, so such a file is decoded once.
    private let damaged = Mutex<Set<FileState>>([])
    private let decodings = Atomic(0)

    /// - Parameters:
    ///   - capacity: the most bytes of results to keep.
    ///   - mostWaiting: the most requests that wait for a result at once.
    init(capacity: Int = 64 << 20, mostWaiting: Int = 256) {
        results = Mutex(ScaledPictures(capacity: capacity))
        self.mostWaiting = mostWaiting
    }

    /// The number of files that were decoded so far.
    var decoded: Int { decodings.load(ordering: .relaxed) }

    /// Returns an item's picture in the size of an address; nil when the item has no such picture. An item without
    /// artwork gets a square of a colour of its own.
    /// - Throws: ``Unusable``; `StoreError` `unavailable` when too many requests wait.
    func picture(_ address: ItemImageAddress, of item: CatalogItem) async throws -> ScaledPicture? {
        let quality = address.format == .jpg ? address.quality ?? Self.usualQuality : 0
        var key = ScaledPictures.Key(
            number: item.number, picture: address.picture, width: 0, height: 0, quality: quality,
            format: address.format)
        guard let picture = item.picture(address.picture) else {
            guard address.picture == .artwork else { return nil }
            let side = min(address.width, address.height ?? address.width, Self.largestPlaceholder)
            (key.width, key.height) = (side, side)
            return try await result(key) { key in
                let square = try Drawing(width: side, height: side, color: Self.color(of: key.number))
                return ScaledPicture(try square.encoded(key.format, quality: key.quality), isCurrent: true)
            }
        }
        // Addresses that lead to the same size share a result.
        (key.width, key.height) = Drawing.size(
            picture.width, picture.height, inBoxOf: address.width, address.height)
        key.digest = picture.digest
        return try await result(key) { [self] key in try scaled(picture, address, key) }
    }

    private func result(
        _ key: ScaledPictures.Key, _ make: @escaping @Sendable (ScaledPictures.Key) throws -> ScaledPicture
    ) async throws -> ScaledPicture {
        if let known = results.withLock({ $0.value(for: key) }) { return known }
        let isFull = waiting.withLock { waiting in
            guard waiting < mostWaiting else { return true }
            waiting += 1
            return false
        }
        if isFull { throw StoreError(.unavailable, "Too many pictures are being scaled. Try again in a moment.") }
        defer { waiting.withLock { $0 -= 1 } }
        return try await Self.threads.runIfActive { [self] in
            // A request for the same size may have come first.
            if let known = results.withLock({ $0.value(for: key) }) { return known }
            let made = try make(key)
            if made.isCurrent { results.withLock { $0.insert(made, for: key) } }
            return made
        }
    }

    private func scaled(
        _ picture: ItemPicture, _ address: ItemImageAddress, _ key: ScaledPictures.Key
    ) throws -> ScaledPicture {
        let file: BlobFile
        do { file = try BlobFile(URL(fileURLWithPath: picture.path)) } catch {
            throw Unusable(reason: "The file does not exist or cannot be read.")
        }
        guard file.size <= PictureHeader.largestFile else {
            throw Unusable(reason: "The file is larger than \(PictureHeader.largestFile >> 20) MiB.")
        }
        let state = FileState(path: picture.path, modified: file.modified, length: file.size)
        guard !damaged.withLock({ $0.contains(state) }) else { throw Unusable(reason: "The picture is damaged.") }
        let bytes: [UInt8]
        do { bytes = Array(try file.read(at: 0, count: Int(file.size)).readableBytesView) } catch {
            throw Unusable(reason: "The file changed while it was read, or cannot be read.")
        }
        let header: PictureHeader
        do { header = try PictureHeader(bytes) } catch { throw Unusable(reason: "The file \(error.message).") }
        // The file may have changed since the catalog was read.
        let (width, height) = Drawing.size(header.width, header.height, inBoxOf: address.width, address.height)
        let isLarge = header.width * header.height > Self.manyPixels
        if isLarge { Self.large.lock() }
        defer { if isLarge { Self.large.unlock() } }
        do {
            decodings.add(1, ordering: .relaxed)
            let drawing = try Drawing(decoding: bytes, header)
            let background: UInt32? = key.format == .jpg ? 0xFF_FFFF : nil
            let scaled = try drawing.scaled(toWidth: width, height: height, background: background)
            // The catalog has the time in milliseconds, rounded from a `Double`.
            return ScaledPicture(
                try scaled.encoded(key.format, quality: key.quality),
                isCurrent: abs(file.modified / 1_000_000 - picture.modified) <= 1)
        } catch {
            damaged.withLock {
                if $0.count >= 1_000 { $0.removeAll() }
                $0.insert(state)
            }
            throw Unusable(reason: "The picture is damaged.")
        }
    }

    /// The colour of an item's placeholder. Neighbouring numbers get different ones.
    static func color(of number: Int64) -> UInt32 {
        let colors: [UInt32] = [
            0x5B7DB1, 0x7A5BB1, 0xB15B9E, 0xB15B5B, 0xB1875B, 0x8FA04A, 0x5BA36B, 0x4A9C9C,
        ]
        let mixed = UInt64(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15
        return colors[Int(mixed >> 61)]
    }
}
