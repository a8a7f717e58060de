import Foundation

/// The cores on which a thread may run. The load generator has a core of its own and the servers have all others, so
/// that they do not slow each other down.
struct Processors: Sendable, Equatable {
    let numbers: [Int]

    /// The cores with which this process was started.
    static let all = Processors(numbers: current())

    /// The core of the load generator; nil where there is only one core.
    static var forLoad: Processors? { all.numbers.count > 1 ? Processors(numbers: Array(all.numbers.suffix(1))) : nil }

    /// The cores of servers; nil where there is only one core.
    static var forServers: Processors? {
        all.numbers.count > 1 ? Processors(numbers: Array(all.numbers.dropLast())) : nil
    }

    /// One of the cores of servers, for a server that is compared with raw work on one core; nil where there is only
    /// one core.
    static var forOneServer: Processors? { forServers.map { Processors(numbers: Array($0.numbers.prefix(1))) } }

    /// Moves the calling thread, and the threads and processes that it starts later, to these cores.
    func claimCallingThread() throws {
        var mask = Self.emptyMask
        for number in numbers where number / 8 < mask.count { mask[number / 8] |= 1 << UInt8(number % 8) }
        guard Self.call("sched_setaffinity", &mask) == 0 else {
            throw BenchmarkError("sched_setaffinity: \(String(cString: strerror(errno)))")
        }
    }

    private static var emptyMask: [UInt8] { Array(repeating: 0, count: 128) }

    private static func current() -> [Int] {
        var mask = emptyMask
        guard call("sched_getaffinity", &mask) == 0 else { return [0] }
        return (0..<(mask.count * 8)).filter { mask[$0 / 8] & (1 << UInt8($0 % 8)) != 0 }
    }

    /// Calls one of the two functions for the calling thread. They are looked up by name because Swift's view of the C
    /// library has none of the GNU extensions.
    private static func call(_ name: String, _ mask: inout [UInt8]) -> Int32 {
        typealias Function = @convention(c) (pid_t, Int, UnsafeMutableRawPointer) -> Int32
        guard let symbol = dlsym(nil, name) else { return -1 }
        let function = unsafeBitCast(symbol, to: Function.self)
        return mask.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { function(0, bytes.count, $0) } ?? -1
        }
    }
}
