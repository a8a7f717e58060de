import Foundation

/// Reads a command's input files, up to a limit.
enum BoundedInput {
    /// Returns the bytes of a file, or of standard input when `path` is `-`.
    ///
    /// - Parameter what: the kind of file, for error messages.
    /// - Throws: ``CommandError`` when the file does not exist, cannot be read, or has more than `limit` bytes.
    static func read(_ path: String, limit: Int, what: String) throws -> [UInt8] {
        let name = path == "-" ? "standard input" : path
        let handle: FileHandle
        if path == "-" {
            handle = .standardInput
        } else {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
                throw CommandError(.failed, "The \(what) file \(path) does not exist.")
            }
            guard !isDirectory.boolValue else {
                throw CommandError(.failed, "\(path) is a directory. Give the path of the \(what) file in it.")
            }
            guard let opened = FileHandle(forReadingAtPath: path) else {
                throw CommandError(.failed, "Cannot open \(path). Check its permissions.")
            }
            handle = opened
        }
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let part: Data
            do {
                part = try handle.read(upToCount: min(1 << 16, limit + 1 - bytes.count)) ?? Data()
            } catch {
                throw CommandError(.failed, "Cannot read \(name).")
            }
            guard !part.isEmpty else { return bytes }
            bytes += part
        }
        throw CommandError(.refused, "\(name) is too large: a \(what) file has at most \(limit) bytes.")
    }
}
