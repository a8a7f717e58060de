import Foundation
import StoreWire
import Synchronization

/// The position in the store's list of notices up to which the app has received them, for each account, in a small
/// file.
final class NoticeCursors: Sendable {
    private let file: URL
    private let cursors: Mutex<[String: Int64]>

    /// Reads the file. Without a readable file there are no cursors, and the app may receive notices again.
    init(file: URL) {
        self.file = file
        cursors = Mutex(
            BoundedFile.read(file, limit: 1 << 20).flatMap { try? JSONDecoder().decode([String: Int64].self, from: $0) }
                ?? [:])
    }

    func cursor(of account: AccountID) -> Int64? { cursors.withLock { $0[account.rawValue] } }

    /// Saves a cursor, unless the saved one is as high or higher.
    func keep(_ cursor: Int64, of account: AccountID) throws {
        try cursors.withLock { cursors in
            guard cursors[account.rawValue].map({ $0 < cursor }) ?? true else { return }
            cursors[account.rawValue] = cursor
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            try BoundedFile.write(try encoder.encode(cursors), to: file)
        }
    }
}
