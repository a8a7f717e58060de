import Foundation

/// The restrictions of this device, like parental controls on a phone. They are a file in the device's folder, which
/// running apps read before each purchase.
public struct DeviceRestrictions: Codable, Sendable, Equatable {
    /// Whether the device allows purchases. Apps can read prices in either case.
    public var allowsPayments: Bool

    /// Creates restrictions. By default they allow everything.
    public init(allowsPayments: Bool = true) { self.allowsPayments = allowsPayments }

    /// Reads the restrictions of a device. A missing file allows everything. An unreadable file allows nothing.
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

    /// Writes the restrictions. Running apps apply them from their next purchase on.
    ///
    /// - Throws: an error of the file system when the folder or file cannot be written.
    public func write(deviceFolder: URL) throws {
        try FileManager.default.createDirectory(
            at: deviceFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try BoundedFile.write(try encoder.encode(self), to: Self.file(deviceFolder))
    }

    private static func file(_ deviceFolder: URL) -> URL { deviceFolder.appendingPathComponent("restrictions.json") }
}
