import Foundation

/// Reads what a command was handed, never more than it can use.
enum BoundedInput {
    /// A file's bytes, or standard input's for `-`.
    ///
    /// - Parameter what: names the thing in errors.
    /// - Throws: ``CommandError`` when it is not there, cannot be read, or has more than `limit` bytes.
    static func read(_ path: String, limit: Int, what: String) throws -> [UInt8] {
        let name = path == "-" ? "standard input" : path
        let handle: FileHandle
        if path == "-" {
            handle = .standardInput
        } else {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
                throw CommandError(.failed, "There is no \(what) file \(path).")
            }
            guard !isDirectory.boolValue else {
                throw CommandError(.failed, "\(path) is a directory; name the \(what) file in it.")
            }
            guard let opened = FileHandle(forReadingAtPath: path) else {
                throw CommandError(.failed, "\(path) cannot be opened; check its permissions.")
            }
            handle = opened
        }
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let part: Data
            do {
                part = try handle.read(upToCount: min(1 << 16, limit + 1 - bytes.count)) ?? Data()
            } catch {
                throw CommandError(.failed, "\(name) cannot be read.")
            }
            guard !part.isEmpty else { return bytes }
            bytes += part
        }
        throw CommandError(.refused, "\(name) has more than \(limit) bytes, which no \(what) has.")
    }
}
