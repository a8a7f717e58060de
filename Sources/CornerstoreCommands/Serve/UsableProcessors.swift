import Foundation

/// The number of processors that this process may use. More event loops than processors would make requests wait for
/// each other.
public enum UsableProcessors {
    /// The number of processors in the process's affinity mask, from `/proc/self/status` (proc_pid_status(5)).
    /// Foundation and NIO count all processors of the machine.
    public static var count: Int {
        let all = ProcessInfo.processInfo.activeProcessorCount
        guard let file = FileHandle(forReadingAtPath: "/proc/self/status"), let status = try? file.readToEnd() else {
            return all
        }
        return count(inStatus: String(decoding: status, as: UTF8.self)) ?? all
    }

    /// Counts the processors in a line such as `Cpus_allowed_list:	0-2,7`; nil when the line is missing or malformed.
    static func count(inStatus status: String) -> Int? {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed_list:") }) else {
            return nil
        }
        var count = 0
        for part in line.drop(while: { $0 != ":" }).dropFirst().split(separator: ",") {
            let ends = part.split(separator: "-").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
            guard let first = ends.first, let last = ends.last, last >= first else { return nil }
            count += last - first + 1
        }
        return count > 0 ? count : nil
    }
}
