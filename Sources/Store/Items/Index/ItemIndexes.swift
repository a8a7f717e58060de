import CornerstoreEncoding
import Crypto
import Foundation
import Synchronization

/// The index that requests use. Replacing it takes effect between two requests.
public final class CurrentItemIndex: Sendable {
    private let index: Mutex<ItemIndex>

    /// Holds an index.
    public init(_ index: ItemIndex) { self.index = Mutex(index) }

    /// The current index.
    public var value: ItemIndex { index.withLock { $0 } }

    /// Replaces the index. Requests that have begun end with the old one.
    public func replace(with new: ItemIndex) { index.withLock { $0 = new } }
}

/// The folder of the index files, whose names tell the items that they were built from. It holds the file of the
/// current index, and after a change that of the index before, which requests may still use.
public struct ItemIndexes: Sendable {
    private let folder: URL

    /// Uses a folder that exists and that nothing else writes to.
    public init(folder: URL) { self.folder = folder }

    /// Opens the index of these items. Builds it first, unless the folder has it, and removes the files of other items.
    ///
    /// Building takes up to a second for each 20,000 items, so call this where blocking is allowed.
    /// - Parameter current: The index in use, whose file stays until the next change; nil for none. Without its file,
    ///   an index can only be read over the connections that it has.
    /// - Throws: `SQLiteError` when the file cannot be written or read.
    public func index(of items: some Collection<CatalogItem>, keeping current: ItemIndex? = nil) throws -> ItemIndex {
        let digest = Self.digest(of: items)
        let file = folder.appendingPathComponent(Self.name(digest))
        let kept = [digest, current?.digest ?? digest].map(Self.name)
        if let known = try? ItemIndex.open(at: file), known.digest == digest {
            removeOthers(than: kept)
            return known
        }
        try ItemIndex.build(items, at: file, digest: digest)
        let index = try ItemIndex.open(at: file)
        removeOthers(than: kept)
        return index
    }

    private static let prefix = "index-"

    private static func name(_ digest: String) -> String { "\(prefix)\(digest).sqlite" }

    /// 32 hexadecimal digits that change with the items and with the format of the file.
    static func digest(of items: some Collection<CatalogItem>) -> String {
        var hash = SHA256()
        hash.update(data: Data("version \(ItemIndex.formatVersion)\n".utf8))
        for item in items { hash.update(data: CatalogItemCoding.bytes(of: item)) }
        return Hexadecimal.encoded(hash.finalize().prefix(16))
    }

    /// Removes older indexes, and files that an interrupted build left.
    private func removeOthers(than kept: [String]) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where name.hasPrefix(Self.prefix) && !kept.contains(name) {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }
}
