import Foundation
import Store

/// Builds an index of ``SampleItems``: this program with other arguments, in a process of its own so that its memory
/// can be measured.
enum IndexProcess {
    static let subcommand = "index"

    /// The process's result, as it prints it.
    struct Found: Codable, Sendable {
        /// The time to build the index, without the time to make the items.
        var seconds: Double
        /// The processor time of the same work.
        var processorSeconds: Double
        /// The time to make the items.
        var itemSeconds: Double
        /// The highest resident memory.
        var mebibytes: Double
        /// The length of the file.
        var fileMebibytes: Double
    }

    static func run(_ arguments: [String]) throws {
        guard arguments.count == 3, let count = Int(arguments[0]) else {
            throw BenchmarkError("the index's process needs a number of items, a file and a digest as arguments")
        }
        let items = SampleItems(count: count)
        let file = URL(filePath: arguments[1])
        let making = try timed {
            var bytes = 0
            for item in items { bytes += item.texts[0].name.utf8.count }
            guard bytes > 0 else { throw BenchmarkError("the items have no names") }
        }
        let building = try timed { try ItemIndex.build(items, at: file, digest: arguments[2]) }
        let length = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        let found = Found(
            seconds: building.seconds - making.seconds, processorSeconds: building.processor - making.processor,
            itemSeconds: making.seconds, mebibytes: try ProgramRun.highestMemory(of: "self") ?? .nan,
            fileMebibytes: Double(length ?? 0) / 1_048_576)
        print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
    }

    /// Does the work in a process of its own.
    static func found(_ count: Int, _ file: URL, digest: String) throws -> Found {
        let result = try ProgramRun.run(
            try ChildProcess.ownExecutable(), [subcommand, String(count), file.path, digest])
        return try JSONDecoder().decode(Found.self, from: result.output)
    }

    private static func timed(_ work: () throws -> Void) rethrows -> (seconds: Double, processor: Double) {
        let (start, before) = (ContinuousClock.now, clock())
        try work()
        return ((ContinuousClock.now - start).seconds, Double(clock() - before) / Double(CLOCKS_PER_SEC))
    }
}
