import Foundation
import Synchronization

/// A small value of one app on this device, stored as JSON in the app's folder. A missing or damaged file counts as the
/// empty value.
final class DeviceRecord<Value: Codable & Sendable>: Sendable {
    /// The size limit of the file in bytes.
    static var largestFile: Int { 1 << 20 }

    private let file: URL?
    private let empty: Value
    /// Serializes changes in this process. The journal's lock excludes other processes of the same app.
    private let lock = Mutex(())

    /// - Parameter file: the file; nil while nothing is configured, in which case every change fails.
    init(file: URL?, empty: Value) {
        self.file = file
        self.empty = empty
    }

    var value: Value { lock.withLock { _ in read() } }

    /// Changes the value. On return the new value is on disk.
    ///
    /// - Throws: ``DeviceError`` when the file cannot be written, and any error of `body`. The value is then unchanged.
    func change<Result: Sendable>(_ body: @Sendable (inout Value) throws -> Result) throws -> Result {
        guard let file else {
            throw DeviceError(code: .folderUnusable, detail: "no app is configured; set CORNERSTORE_BUNDLE_ID")
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
