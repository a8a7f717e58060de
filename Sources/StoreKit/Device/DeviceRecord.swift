import Foundation
import Synchronization

/// A small value of one app on this device, kept as JSON in the app's folder. A file that is missing or damaged counts
/// as the empty value.
final class DeviceRecord<Value: Codable & Sendable>: Sendable {
    /// The largest file that is read.
    static var largestFile: Int { 1 << 20 }

    private let file: URL?
    private let empty: Value
    /// One change at a time in this process; another process of the same app is kept out by the journal's lock.
    private let lock = Mutex(())

    /// - Parameter file: nil while nothing is configured; then every change fails.
    init(file: URL?, empty: Value) {
        self.file = file
        self.empty = empty
    }

    var value: Value { lock.withLock { _ in read() } }

    /// Changes the value; on return it is on the disk.
    ///
    /// - Throws: ``DeviceError`` when it cannot be written, and what `body` throws; nothing has changed then.
    func change<Result: Sendable>(_ body: @Sendable (inout Value) throws -> Result) throws -> Result {
        guard let file else {
            throw DeviceError(code: .folderUnusable, detail: "no app is configured, so that nothing can be kept for it")
        }
        return try lock.withLock { _ in
            var value = read()
            let result = try body(&value)
            try BoundedFile.write(try JSONEncoder().encode(value), to: file)
            return result
        }
    }

    private func read() -> Value {
        guard let file, let bytes = BoundedFile.read(file, limit: Self.largestFile),
            let value = try? JSONDecoder().decode(Value.self, from: bytes)
        else { return empty }
        return value
    }
}
