import Foundation

/// Tells whether catalog files changed since they were last looked at: by modification time, size and file number,
/// without reading them and without a timer of its own. A value; its owner asks as often as it likes.
public struct CatalogWatcher: Sendable {
    private struct Stamp: Sendable, Equatable {
        var modified: Date?
        var size: UInt64?
        var number: UInt64?
    }

    /// The files that this watcher looks at.
    public let files: [CatalogFile]
    private var stamps: [Stamp?]

    /// Takes the files' state now as the one that is known. Make the watcher before loading the files, so that a change
    /// in between is seen.
    public init(files: [CatalogFile]) {
        self.files = files
        stamps = files.map(Self.stamp)
    }

    /// Whether any file changed, appeared or went away since the last call.
    public mutating func changed() -> Bool {
        let current = files.map(Self.stamp)
        defer { stamps = current }
        return current != stamps
    }

    /// What became of the catalog at one look.
    public enum Reload: Sendable {
        /// No file changed.
        case unchanged
        /// The files are good: this catalog takes the old one's place.
        case loaded(Catalog, notes: [String])
        /// A file is bad: the old catalog stays, and this is to be told. It is not tried again until a file changes
        /// once more.
        case failed(CatalogError)
    }

    /// Loads the files again if one changed.
    public mutating func reload() -> Reload {
        guard changed() else { return .unchanged }
        do {
            let (catalog, notes) = try Catalog.load(files: files)
            return .loaded(catalog, notes: notes)
        } catch {
            return .failed(error)
        }
    }

    private static func stamp(_ file: CatalogFile) -> Stamp? {
        // The path may be a symbolic link (a mounted configuration is one): what counts is the file it leads to.
        let path = URL(fileURLWithPath: file.path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        return Stamp(
            modified: attributes[.modificationDate] as? Date, size: (attributes[.size] as? NSNumber)?.uint64Value,
            number: (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
        )
    }
}
