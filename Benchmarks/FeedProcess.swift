import Foundation
import Store

/// Builds a partner feed: this program with other arguments, in a process of its own so that its memory can be
/// measured.
enum FeedProcess {
    static let subcommand = "feed"

    /// The process's result, as it prints it.
    struct Found: Codable, Sendable {
        var seconds: Double
        /// The highest resident memory.
        var mebibytes: Double
        var items: Int
    }

    /// The arguments of a run: the index's file, the folder of the feeds, and `full` or `incremental`.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 3, let mode = FeedMode(rawValue: arguments[2]) else {
            throw BenchmarkError("the feed's process needs an index, a folder and a mode as arguments")
        }
        let index = try ItemIndex.open(at: URL(filePath: arguments[0]))
        let order = FeedOrder(
            mode, FeedDay(days: 20_460), base: "https://store.example.com", layouts: [.tables])
        let start = ContinuousClock.now
        let build = try FeedDesk.measure(
            order, of: index, in: URL(filePath: arguments[1]), workers: Processors.all.numbers.count)
        let found = Found(
            seconds: (ContinuousClock.now - start).seconds,
            mebibytes: try ProgramRun.highestMemory(of: "self") ?? .nan, items: build.items)
        print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
    }

    /// Builds a feed in a process of its own.
    static func found(_ mode: FeedMode, _ index: URL, _ folder: URL) throws -> Found {
        let result = try ProgramRun.run(
            try ChildProcess.ownExecutable(), [subcommand, index.path, folder.path, mode.rawValue])
        return try JSONDecoder().decode(Found.self, from: result.output)
    }
}
