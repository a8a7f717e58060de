internal import CornerstoreSQLite
import Foundation
import StoreWire

extension SQLitePaymentJournal: DownloadJournal {
    func loadDownloads() throws -> [DownloadEntry] {
        let bodies = try transaction { connection in
            try Self.all("SELECT body FROM download ORDER BY id", connection) { Data($0.bytes(0)) }
        }
        let decoder = JSONDecoder()
        return bodies.compactMap { try? decoder.decode(DownloadEntry.self, from: $0) }
    }

    func save(downloads: [DownloadEntry]) throws {
        let encoder = JSONEncoder()
        let rows = try downloads.map { ($0.id.rawValue, try encoder.encode($0)) }
        try transaction { connection in
            let statement = try connection.statement(
                """
                INSERT INTO download (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body
                """)
            for (id, body) in rows {
                try statement.bind(id, at: 1)
                try statement.bind([UInt8](body), at: 2)
                try statement.run()
            }
        }
    }

    func forget(downloads: [TransactionID]) throws {
        try transaction { connection in
            let statement = try connection.statement("DELETE FROM download WHERE id = ?")
            for id in downloads {
                try statement.bind(id.rawValue, at: 1)
                try statement.run()
            }
        }
    }
}
