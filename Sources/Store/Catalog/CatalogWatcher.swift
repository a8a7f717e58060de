import Foundation

/// Detects changes of catalog files by modification time, size and file number. The watcher does not read the files and
/// has no timer; the owner decides how often to check.
public struct CatalogWatcher: Sendable {
    private struct Stamp: Sendable, Equatable {
        var modified: Date?
        var size: UInt64?
        var number: UInt64?
    }

    /// The files that this watcher looks at.
    public let files: [CatalogFile]
    private var stamps: [Stamp?]

    /// Creates a watcher that compares with the files' current state. Create it before you load the files, so that it
    /// detects a change in between.
    public init(files: [CatalogFile]) {
        self.files = files
        stamps = files.map(Self.stamp)
    }

    /// Whether any file changed, appeared or disappeared since the last call.
    public mutating func changed() -> Bool {
        let current = files.map(Self.stamp)
        defer { stamps = current }
        return current != stamps
    }

    /// The result of a check.
    public enum Reload: Sendable {
        /// No file changed.
        case unchanged
        /// A file changed and all files are valid. The new catalog replaces the old one.
        case loaded(Catalog, notes: [String])
        /// A file changed and is invalid. The old catalog stays, and the error is to be reported. The files are not
        /// loaded again until one changes.
        case failed(CatalogError)
    }

    /// Loads the files again if one has changed.
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
        // Follow symbolic links, which mounted configurations use, to the file itself.
        let path = URL(fileURLWithPath: file.path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        return Stamp(
            modified: attributes[.modificationDate] as? Date, size: (attributes[.size] as? NSNumber)?.uint64Value,
            number: (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
        )
    }
}
