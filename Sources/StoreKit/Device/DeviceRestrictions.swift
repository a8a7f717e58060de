import Foundation

/// What the device's owner does not allow on it, as parental controls do on a phone: a file in the device's folder, which
/// running apps look at anew each time.
public struct DeviceRestrictions: Codable, Sendable, Equatable {
    /// False when nobody may buy on the device; prices can still be read.
    public var allowsPayments: Bool

    public init(allowsPayments: Bool = true) { self.allowsPayments = allowsPayments }

    /// The restrictions of a device. A file that is not there allows everything, and one that cannot be read nothing.
    public init(deviceFolder: URL) {
        let file = Self.file(deviceFolder)
        guard FileManager.default.fileExists(atPath: file.path) else {
            self.init()
            return
        }
        self =
            BoundedFile.read(file, limit: 1 << 16).flatMap { try? JSONDecoder().decode(Self.self, from: $0) }
            ?? Self(allowsPayments: false)
    }

    /// Writes them; apps that run obey from their next purchase on.
    ///
    /// - Throws: an error that says what could not be written.
    public func write(deviceFolder: URL) throws {
        try FileManager.default.createDirectory(
            at: deviceFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try BoundedFile.write(try encoder.encode(self), to: Self.file(deviceFolder))
    }

    private static func file(_ deviceFolder: URL) -> URL { deviceFolder.appendingPathComponent("restrictions.json") }
}
