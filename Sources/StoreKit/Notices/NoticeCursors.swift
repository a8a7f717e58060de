import Foundation
import StoreWire
import Synchronization

/// How far the device has told the app what the store had to say, by account, in a small file.
final class NoticeCursors: Sendable {
    private let file: URL
    private let cursors: Mutex<[String: Int64]>

    /// Reads the file; one that is not there or damaged is as none: what was told may be told again.
    init(file: URL) {
        self.file = file
        cursors = Mutex(
            BoundedFile.read(file, limit: 1 << 20).flatMap { try? JSONDecoder().decode([String: Int64].self, from: $0) }
                ?? [:])
    }

    func cursor(of account: AccountID) -> Int64? { cursors.withLock { $0[account.rawValue] } }

    /// Keeps a cursor, never one that lies before the last.
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
