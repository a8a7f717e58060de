import Foundation
import Store

extension Section {
    /// A full partner feed against `bzip2 -9` on the same tables and cores, and an incremental feed of 1 % of them.
    static let feed = Section(name: "feed") { setting in
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let items = SampleItems(count: setting.items)
        let (index, changed) = (folder.appending(path: "index"), folder.appending(path: "changed"))
        try ItemIndex.build(items, at: index)
        try ItemIndex.build(
            items.lazy.enumerated().map { number, item in
                var item = item
                if number % 100 == 7 { item.texts[0].name += " 2" }
                return item
            }, at: changed)
        let feeds = folder.appending(path: "feeds")
        sync()
        let full = try FeedProcess.found(.full, index, feeds)
        sync()
        let incremental = try FeedProcess.found(.incremental, changed, feeds)
        let (bytes, seconds) = try compress(feeds, folder)
        let mebibytes = Double(bytes) / 1_048_576
        print(
            String(
                format: "  %d items, %.0f MiB of tables; full feed %.1f s, %.0f MiB resident; bzip2 -9 %.1f s",
                full.items,
                mebibytes, full.seconds, full.mebibytes, seconds))
        print(
            String(
                format: "  %d changed items: incremental feed %.2f s, %.0f MiB resident", incremental.items,
                incremental.seconds, incremental.mebibytes))
        return [
            .feedOverBzip2(seconds / full.seconds), .feedMemory(max(full.mebibytes, incremental.mebibytes)),
            .feedIncrementalOverFull(incremental.seconds / full.seconds),
        ]
    }

    /// Compresses the tables of the full feed with bzip2 alone, one program for each core.
    /// - Returns: the bytes and the seconds.
    private static func compress(_ feeds: URL, _ folder: URL) throws -> (bytes: Int64, seconds: Double) {
        let plain = folder.appending(path: "plain")
        try FileManager.default.createDirectory(at: plain, withIntermediateDirectories: true)
        let shell = URL(filePath: "/bin/sh")
        let cores = Processors.all.numbers.count
        _ = try ProgramRun.run(
            shell,
            [
                "-c",
                "find full-* -name '*.tbz' | xargs -P \(cores) -n 1 "
                    + "sh -c 'bzip2 -dc \"$0\" > \"\(plain.path)/$(basename \"$0\" .tbz).tar\"'",
            ], in: feeds)
        let bytes = try FileManager.default.contentsOfDirectory(atPath: plain.path).reduce(Int64(0)) { sum, name in
            let size = try FileManager.default.attributesOfItem(atPath: plain.appending(path: name).path)[.size]
            return sum + ((size as? NSNumber)?.int64Value ?? 0)
        }
        sync()
        // The largest first, so that the programs end together.
        let run = try ProgramRun.run(
            shell, ["-c", "ls -S | xargs -P \(cores) -n 1 sh -c 'bzip2 -9 -c \"$0\" > \"$0.bz2\"'"], in: plain)
        return (bytes, run.seconds)
    }
}

extension Figure {
    /// Rate of a full feed in one layout over that of `bzip2 -9` alone on the same bytes and cores.
    static func feedOverBzip2(_ value: Double) -> Figure {
        Figure(name: "feed-over-bzip2", value: value, goal: .atLeast(0.8))
    }
    /// The highest resident memory while a feed is built.
    static func feedMemory(_ value: Double) -> Figure {
        Figure(name: "feed-memory-mib", value: value, goal: .atMost(200))
    }
    /// Time of an incremental feed of 1 % of the items over that of the full feed.
    static func feedIncrementalOverFull(_ value: Double) -> Figure {
        Figure(name: "feed-incremental-over-full", value: value, goal: .atMost(0.05))
    }
}
