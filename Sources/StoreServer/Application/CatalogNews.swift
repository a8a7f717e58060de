import CornerstoreEncoding
import Crypto
import Foundation
import Store
import Synchronization

/// The operator's information about the catalog's files: when they were loaded, and why a changed one was not.
final class CatalogNews: Sendable {
    /// The state of the files.
    struct State: Sendable, Equatable {
        /// When the catalog in use was loaded, in milliseconds since 1970 by the machine's clock.
        var loadedAt: Int64
        /// Notes on the files in use.
        var notes: [String]
        /// The problems for which changed files were not loaded.
        var problems: [CatalogProblem] = []
        /// When the problems were found; nil without problems.
        var foundAt: Int64?
        /// The digest of the files in use, which is the same for every process with the same files.
        var digest: String
    }

    private let current: Mutex<State>
    private let files: [CatalogFile]
    private let changes: Changes
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - files: the files, which were loaded just now.
    ///   - now: the machine's time, in milliseconds since 1970.
    init(notes: [String], files: [CatalogFile], changes: Changes, now: @escaping @Sendable () -> Int64) {
        current = Mutex(State(loadedAt: now(), notes: notes, digest: Self.digest(of: files)))
        self.files = files
        self.changes = changes
        self.now = now
    }

    /// The state now.
    var state: State { current.withLock { $0 } }

    /// Records that a catalog came into use.
    func loaded(notes: [String]) {
        let (date, digest) = (now(), Self.digest(of: files))
        current.withLock { $0 = State(loadedAt: date, notes: notes, digest: digest) }
        changes.record(ChangeTopic(.catalog, nil))
    }

    /// The digest of files' bytes, whatever their names, places and order. A file that cannot be read counts as empty.
    static func digest(of files: [CatalogFile]) -> String {
        let digests = files.map { file in
            let bytes = FileManager.default.contents(atPath: file.path) ?? Data()
            return "\(file.bundleID?.rawValue ?? "") \(Hexadecimal.encoded(Array(SHA256.hash(data: bytes))))"
        }
        let all = Array(digests.sorted().joined(separator: "\n").utf8)
        return Hexadecimal.encoded(Array(SHA256.hash(data: all)))
    }

    /// Records that changed files could not be loaded.
    func failed(_ error: any Error) {
        let date = now()
        let problems =
            (error as? CatalogError)?.problems
            ?? [CatalogProblem(file: "catalog", line: nil, column: nil, keyPath: "", message: "\(error)")]
        current.withLock { ($0.problems, $0.foundAt) = (problems, date) }
        changes.record(ChangeTopic(.catalog, nil))
    }
}
