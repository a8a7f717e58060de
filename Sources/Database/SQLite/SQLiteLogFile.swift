internal import GRDBSQLite

/// A file system for SQLite that is the system's own, but for the write-ahead log, which it writes in long pieces.
///
/// SQLite writes each page of the log in two small pieces, and a batch's commit has dozens of them. Nobody looks for these pages before the
/// flush (`xSync`) of that commit, so they are kept in memory until then and written together, in front of the flush. That needs three
/// things of the connection (https://www.sqlite.org/walformat.html, `sqlite3WalFrames` in wal.c):
/// - `PRAGMA synchronous = FULL`: with less SQLite announces a commit without a flush.
/// - `PRAGMA cache_spill = OFF`: else a transaction larger than the cache writes before its commit, and pages that it gave up would
///   wait here while another process writes in their place.
/// - Powersafe overwrite (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`), as is usual. Without it SQLite writes a little more behind the flush, and each
///   piece goes to the file by itself.
///
/// So the log is written by commits alone, and a failed write is told of by the flush at the latest: before the commit succeeds.
enum SQLiteLogFile {
    /// SQLite's own. It stays the same one, since it says how much memory an open file takes.
    private nonisolated(unsafe) static let system = sqlite3_vfs_find(nil)

    /// The name to open the writing connection with; nil, which is the system's own, when there is none to build upon.
    static let fileSystem: String? = {
        guard let system else { return nil }
        let name = "cornerstore-log"
        // Both stay as long as the process, as SQLite demands.
        let fileSystem = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        fileSystem.initialize(to: system.pointee)
        let text = name.utf8CString
        let kept = UnsafeMutableBufferPointer<CChar>.allocate(capacity: text.count)
        _ = kept.initialize(from: text)
        fileSystem.pointee.pNext = nil
        fileSystem.pointee.zName = UnsafePointer(kept.baseAddress)
        fileSystem.pointee.szOsFile += Int32(MemoryLayout<Pieces>.stride)
        fileSystem.pointee.xOpen = { SQLiteLogFile.open($1, $2, $3, $4) }
        return sqlite3_vfs_register(fileSystem, 0) == SQLITE_OK ? name : nil
    }()

    /// The most that waits to be written: 1 MiB.
    private static let longest = 1 << 20

    /// The most that is written at once: SQLite's file system for Unix keeps 17 bits of a write's length (`seekAndWriteFd` in os_unix.c).
    private static let longestWrite = 120 << 10

    /// What stands in SQLite's memory for an open log; the system's own follows right behind.
    private struct Pieces {
        var base: sqlite3_file
        /// What is still to be written: `count` bytes that belong at `offset`.
        var bytes: UnsafeMutableRawPointer
        /// Whether anything may wait.
        var mayWait = true
        var count = 0
        var offset: Int64 = 0

        var end: Int64 { offset + Int64(count) }
    }

    private typealias File = UnsafeMutablePointer<sqlite3_file>

    private static func open(
        _ path: UnsafePointer<CChar>?, _ file: File?, _ flags: Int32, _ given: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file, let system, let open = system.pointee.xOpen else { return SQLITE_CANTOPEN }
        guard flags & SQLITE_OPEN_WAL != 0 else { return open(system, path, file, flags, given) }
        let log = pieces(file)
        log.initialize(
            to: Pieces(
                base: sqlite3_file(pMethods: nil), bytes: .allocate(byteCount: longest, alignment: 16)))
        own(file).initialize(to: sqlite3_file(pMethods: nil))
        let code = open(system, path, own(file), flags, given)
        if own(file).pointee.pMethods == nil {
            log.pointee.bytes.deallocate()
        } else {
            // It has to be closed, also when this has failed.
            log.pointee.base.pMethods = methods
            let traits = own(file).pointee.pMethods.pointee.xDeviceCharacteristics(own(file))
            log.pointee.mayWait = traits & SQLITE_IOCAP_POWERSAFE_OVERWRITE != 0
        }
        return code
    }

    private static func pieces(_ file: File) -> UnsafeMutablePointer<Pieces> {
        UnsafeMutableRawPointer(file).assumingMemoryBound(to: Pieces.self)
    }

    /// The system's own file.
    private static func own(_ file: File) -> File {
        UnsafeMutableRawPointer(pieces(file) + 1).assumingMemoryBound(to: sqlite3_file.self)
    }

    private nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
        var methods = sqlite3_io_methods()
        methods.iVersion = 1
        methods.xClose = { file in
            guard let file else { return SQLITE_OK }
            // What nobody asked to be flushed belongs to no commit.
            pieces(file).pointee.bytes.deallocate()
            return own(file).pointee.pMethods.pointee.xClose(own(file))
        }
        methods.xRead = { file, bytes, count, offset in
            let code = whole(file) { $0.pointee.pMethods.pointee.xRead($0, bytes, count, offset) }
            // Nothing waits where SQLite reads, as long as commits alone write. If it did: a full disk where SQLite only reads would make it
            // give up a statement, and not the transaction.
            return code == SQLITE_FULL ? SQLITE_IOERR : code
        }
        methods.xWrite = { file, bytes, count, offset in
            guard let file, let bytes else { return SQLITE_IOERR }
            return write(file, UnsafeRawBufferPointer(start: bytes, count: Int(count)), offset)
        }
        methods.xTruncate = { file, size in whole(file) { $0.pointee.pMethods.pointee.xTruncate($0, size) } }
        methods.xSync = { file, flags in whole(file) { $0.pointee.pMethods.pointee.xSync($0, flags) } }
        methods.xFileSize = { file, size in whole(file) { $0.pointee.pMethods.pointee.xFileSize($0, size) } }
        methods.xLock = { file, level in whole(file) { $0.pointee.pMethods.pointee.xLock($0, level) } }
        methods.xUnlock = { file, level in whole(file) { $0.pointee.pMethods.pointee.xUnlock($0, level) } }
        methods.xCheckReservedLock = { file, found in
            whole(file) { $0.pointee.pMethods.pointee.xCheckReservedLock($0, found) }
        }
        methods.xFileControl = { file, operation, argument in
            whole(file) { $0.pointee.pMethods.pointee.xFileControl($0, operation, argument) }
        }
        methods.xSectorSize = { file in file.map { own($0).pointee.pMethods.pointee.xSectorSize(own($0)) } ?? 0 }
        methods.xDeviceCharacteristics = { file in
            file.map { own($0).pointee.pMethods.pointee.xDeviceCharacteristics(own($0)) } ?? 0
        }
        let kept = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        kept.initialize(to: methods)
        return UnsafePointer(kept)
    }()

    private static func write(_ file: File, _ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Int32 {
        let log = pieces(file)
        if log.pointee.count > 0, offset != log.pointee.end || log.pointee.count + bytes.count > longest {
            let code = writePieces(file)
            guard code == SQLITE_OK else { return code }
        }
        guard bytes.count <= longest else { return SQLITE_IOERR }
        guard log.pointee.mayWait else {
            return own(file).pointee.pMethods.pointee.xWrite(own(file), bytes.baseAddress, Int32(bytes.count), offset)
        }
        if log.pointee.count == 0 { log.pointee.offset = offset }
        UnsafeMutableRawBufferPointer(start: log.pointee.bytes + log.pointee.count, count: bytes.count)
            .copyMemory(from: bytes)
        log.pointee.count += bytes.count
        return SQLITE_OK
    }

    /// Does something with the system's own file once all that waits is written to it.
    private static func whole(_ file: File?, _ body: (File) -> Int32) -> Int32 {
        guard let file else { return SQLITE_IOERR }
        let code = writePieces(file)
        return code == SQLITE_OK ? body(own(file)) : code
    }

    /// What could not be written is forgotten: it belongs to a commit, which fails, and SQLite takes back the transaction.
    private static func writePieces(_ file: File) -> Int32 {
        let log = pieces(file)
        let (count, bytes, offset) = (log.pointee.count, log.pointee.bytes, log.pointee.offset)
        log.pointee.count = 0
        var done = 0
        while done < count {
            let piece = min(count - done, longestWrite)
            let code = own(file).pointee.pMethods.pointee.xWrite(
                own(file), bytes + done, Int32(piece), offset + Int64(done))
            guard code == SQLITE_OK else { return code }
            done += piece
        }
        return SQLITE_OK
    }
}
