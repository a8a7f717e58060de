import Foundation
import GRDBSQLite
import Testing

@testable import Database

/// A log opened as SQLite opens it.
final class OpenLog {
    private let memory: UnsafeMutableRawPointer
    private let path: UnsafeMutablePointer<CChar>?
    private var file: UnsafeMutablePointer<sqlite3_file> { memory.assumingMemoryBound(to: sqlite3_file.self) }
    private var methods: sqlite3_io_methods { file.pointee.pMethods.pointee }

    /// - Parameter isPowersafe: false for a disk that may damage what lies beside what it writes when the power goes
    ///   (`psow=0`).
    init(_ path: String, isPowersafe: Bool = true) throws {
        let name: String = try #require(SQLiteLogFile.fileSystem)
        let fileSystem = try #require(sqlite3_vfs_find(name))
        let size = Int(fileSystem.pointee.szOsFile)
        memory = .allocate(byteCount: size, alignment: 8)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        self.path = UnsafeMutablePointer(
            mutating: ["psow", isPowersafe ? "1" : "0"].withCStrings { sqlite3_create_filename(path, "", "", 1, $0) })
        let code = fileSystem.pointee.xOpen(
            fileSystem, self.path, file,
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL | SQLITE_OPEN_URI, nil)
        try #require(code == SQLITE_OK)
    }

    deinit {
        if file.pointee.pMethods != nil { _ = methods.xClose(file) }
        memory.deallocate()
        sqlite3_free_filename(path)
    }

    func write(_ bytes: [UInt8], at offset: Int) -> Int32 {
        methods.xWrite(file, bytes, Int32(bytes.count), Int64(offset))
    }

    func read(_ count: Int, at offset: Int) -> (code: Int32, bytes: [UInt8]) {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        return (methods.xRead(file, &bytes, Int32(count), Int64(offset)), bytes)
    }

    func truncate(to size: Int) -> Int32 { methods.xTruncate(file, Int64(size)) }

    func flush() -> Int32 { methods.xSync(file, SQLITE_SYNC_NORMAL) }

    func size() -> (code: Int32, bytes: Int64) {
        var size: Int64 = -1
        return (methods.xFileSize(file, &size), size)
    }
}

extension [String] {
    /// Texts as C takes them, for as long as `body` runs.
    fileprivate func withCStrings<T>(_ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>) -> T) -> T {
        let copies = map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { UnsafePointer($0) }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            // It has as many places as there are texts, of which there are some.
            body(buffer.baseAddress!)
        }
    }
}
