import Foundation
import Glibc
import Synchronization

/// Builds one feed in a folder of its own: reads the items once, writes the rows of all tables side by side into plain
/// files, and then packs them. An archive begins with its table's length, so a table is complete before it is packed.
struct FeedBuilder: Sendable {
    var order: FeedOrder
    /// The folder of the build, which does not exist yet.
    var folder: URL
    /// Connections to the index, one for each worker and one more.
    var readers: [ItemIndex.Reader]
    var sales: [FeedSales]
    /// The last full feed and its digests; nil for a full feed.
    var previous: (name: String, digests: FeedDigests)?
    var workers: Int
    /// Called at each point at which a test stops the build.
    var onStep: @Sendable (FeedStep) throws -> Void
    /// Throws when the build has to end.
    var isStopped: @Sendable () throws -> Void

    /// With fewer items, a second worker costs more than it saves.
    private static let fewItems = 20_000

    /// Builds the feed. The folder is complete and on the disk when this returns.
    func build() throws -> FeedManifest {
        try FeedFile.makeFolder(folder.path)
        try FeedFile.makeFolder(plain.path)
        try onStep(.folderMade)
        let (parts, items, pricesLeftOut) = try writeRows()
        try onStep(.rowsWritten)
        let files = try pack(parts)
        try FileManager.default.removeItem(at: plain)
        let manifest = FeedManifest(
            mode: order.mode, day: order.day.days, base: previous?.name, storefront: order.base, items: items,
            pricesLeftOut: pricesLeftOut, files: files)
        try FeedFile.write(
            JSONEncoder().encode(manifest), to: folder.appendingPathComponent(FeedManifest.fileName).path)
        try FeedFile.flushFolder(folder.path)
        try onStep(.manifestWritten)
        return manifest
    }

    /// The folder of the files before they are packed.
    private var plain: URL { folder.appendingPathComponent("plain") }

    // MARK: Rows

    private func writeRows() throws -> (parts: [String: [FeedPart]], items: Int, pricesLeftOut: Int) {
        let ranges = try ranges()
        let order = order
        let passes = try ranges.enumerated().map { index, range in
            let reader = readers[index]
            let rows = try FeedItems(order, reader: reader) { table, grammar in
                try open(table, grammar, part: index)
            }
            return UncheckedPass(
                FeedPass(
                    range: range, reader: reader, rows: rows, previous: previous?.digests,
                    digests: order.mode == .full ? plain.appendingPathComponent("digests.\(index)").path : nil,
                    isStopped: isStopped))
        }
        try onStep(.filesOpened)
        let results = Mutex<[Int: FeedPass.Result]>([:])
        let others = Mutex<[String: FeedPart]>([:])
        var jobs: [@Sendable () throws -> Void] = passes.enumerated().map { index, pass in
            {
                let result = try pass.pass.run()
                results.withLock { $0[index] = result }
            }
        }
        if order.hasTables {
            jobs.append {
                let tables = self.others
                var parts = try tables.ranks(self.sales)
                if order.mode == .full { parts.merge(try tables.creators(nil)) { first, _ in first } }
                others.withLock { $0.merge(parts) { first, _ in first } }
            }
        }
        try Self.run(jobs, workers: workers)

        let written = results.withLock { results in results.sorted { $0.key < $1.key }.map(\.value) }
        var parts: [String: [FeedPart]] = [:]
        for result in written { parts.merge(result.parts.mapValues { [$0] }) { $0 + $1 } }
        if order.hasTables {
            let genres = written.reduce(into: [Int64: String]()) { $0.merge($1.genres) { first, _ in first } }
            var more = try self.others.fixed(genres: genres)
            if order.mode == .incremental {
                let creators = written.reduce(into: Set<Int64>()) { $0.formUnion($1.creators) }
                more.merge(try self.others.creators(creators)) { first, _ in first }
            }
            parts.merge(more.mapValues { [$0] }) { $0 + $1 }
            parts.merge(others.withLock { $0 }.mapValues { [$0] }) { $0 + $1 }
        }
        if order.mode == .full { try joinDigests(written.compactMap(\.digests)) }
        return (parts, written.reduce(0) { $0 + $1.items }, written.reduce(0) { $0 + $1.pricesLeftOut })
    }

    /// A pass that one job runs.
    ///
    /// @unchecked: nothing else uses the pass, its reader or its files until the job has ended.
    private struct UncheckedPass: @unchecked Sendable {
        let pass: FeedPass
        init(_ pass: FeedPass) { self.pass = pass }
    }

    /// The tables that do not come from one item at a time. They have the last reader.
    private var others: FeedOtherTables {
        FeedOtherTables(
            order: order, reader: readers[readers.count - 1],
            open: { try open($0, .relational, part: 0) }, isStopped: isStopped)
    }

    private func open(_ table: FeedTable, _ grammar: FeedGrammar, part: Int) throws -> FeedRows {
        try FeedRows(
            table, grammar, day: order.day, at: plain.appendingPathComponent("\(table.name).\(part)").path,
            bufferSize: grammar == .flat ? 16 << 10 : 128 << 10)
    }

    /// The ranges of numbers that the workers read.
    private func ranges() throws -> [(after: Int64, upTo: Int64)] {
        let count = try readers[0].itemCount()
        guard count >= Self.fewItems, workers > 1, readers.count > 2,
            let middle = try readers[0].itemNumber(at: count / 2)
        else { return [(.min, .max)] }
        return [(.min, middle), (middle, .max)]
    }

    private func joinDigests(_ parts: [String]) throws {
        let file = try FeedFile(folder.appendingPathComponent(FeedManifest.digestsName).path)
        for part in parts { try readFeedFile(part) { try file.write($0) } }
        try file.close(isDurable: true)
    }

    // MARK: Archives

    private func pack(_ parts: [String: [FeedPart]]) throws -> [FeedManifest.File] {
        let files = Mutex<[FeedManifest.File]>([])
        // The largest first, so that the workers end together.
        let archives = archives(parts).sorted { ($0.length, $1.path) > ($1.length, $0.path) }
        for path in Set(archives.map { ($0.path as NSString).deletingLastPathComponent }).sorted() {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(path), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        try Self.run(
            archives.map { archive in
                {
                    let written = try archive.write(into: folder, day: order.day, isStopped: isStopped)
                    files.withLock { $0 += written }
                    try onStep(.archiveWritten(archive.path))
                }
            }, workers: workers)
        for path in Set(archives.map { ($0.path as NSString).deletingLastPathComponent }) {
            try FeedFile.flushFolder(folder.appendingPathComponent(path).path)
        }
        return files.withLock { $0.sorted { $0.path < $1.path } }
    }

    private func archives(_ parts: [String: [FeedPart]]) -> [FeedArchive] {
        func file(_ table: FeedTable) -> FeedTableFile? {
            parts[table.name].map { FeedTableFile(table, .relational, order.mode, $0) }
        }
        var archives: [FeedArchive] = []
        for group in FeedGroup.allCases {
            let folder = "\(group.rawValue)\(order.day)"
            func members(_ tables: [FeedTable]) -> [(name: String, table: FeedTableFile)] {
                tables.filter { $0.group == group }.compactMap { table in
                    file(table).map { ("\(folder)/\(table.name)", $0) }
                }
            }
            if order.layouts.contains(.groups) {
                archives.append(FeedArchive(path: "v3/\(folder).tbz", members: members(FeedTable.version3)))
            }
            if order.layouts.contains(.tables) {
                archives += members(FeedTable.all).map {
                    FeedArchive(path: "v5/\(folder)/\($0.table.name).tbz", members: [$0])
                }
            }
        }
        guard order.layouts.contains(.flat) else { return archives }
        for storefront in order.countries {
            for medium in FeedFlatItems.Medium.allCases {
                let table = FeedTable.flat(medium, storefront)
                guard let parts = parts[table.name] else { continue }
                let file = FeedTableFile(table, name: "\(table.name).txt", .flat, order.mode, parts)
                archives.append(
                    FeedArchive(
                        path: "flat/\(storefront.countryCode.lowercased())/\(table.name)\(order.day).tbz",
                        members: [(file.name, file)]))
            }
        }
        return archives
    }

    /// Runs jobs on a number of threads, and throws the first error after all threads have ended.
    static func run(_ jobs: [@Sendable () throws -> Void], workers: Int) throws {
        let next = Mutex(0)
        let failure = Mutex<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: max(1, min(workers, jobs.count))) { _ in
            while failure.withLock({ $0 == nil }) {
                let index = next.withLock { next in
                    next += 1
                    return next - 1
                }
                guard index < jobs.count else { return }
                do { try jobs[index]() } catch { failure.withLock { $0 = $0 ?? error } }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
