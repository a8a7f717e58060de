import Foundation
import GRDB
import StoreWire

extension SQLitePaymentJournal: DownloadJournal {
    func loadDownloads() throws -> [DownloadEntry] {
        try database.read { db in
            let decoder = JSONDecoder()
            return try Data.fetchAll(db, sql: "SELECT body FROM download ORDER BY id").compactMap {
                try? decoder.decode(DownloadEntry.self, from: $0)
            }
        }
    }

    func save(downloads: [DownloadEntry]) throws {
        let encoder = JSONEncoder()
        let rows = try downloads.map { ($0.id.rawValue, try encoder.encode($0)) }
        try database.write { db in
            let statement = try db.cachedStatement(
                sql: """
                    INSERT INTO download (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body
                    """)
            for (id, body) in rows { try statement.execute(arguments: [id, body]) }
        }
    }

    func forget(downloads: [TransactionID]) throws {
        try database.write { db in
            let statement = try db.cachedStatement(sql: "DELETE FROM download WHERE id = ?")
            for id in downloads { try statement.execute(arguments: [id.rawValue]) }
        }
    }
}
