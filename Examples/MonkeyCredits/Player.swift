import Foundation

/// Who plays, as the store is told: an identifier that means something to the game alone. A game with accounts of its own
/// would take a UUID from the account; this one makes one at its first launch.
public struct Player: Sendable, Equatable {
    public let identifier: UUID

    public init(identifier: UUID) {
        self.identifier = identifier
    }

    /// The player of the game on this device.
    ///
    /// - Throws: the system's error when the file of a new player cannot be written.
    public init(folder: URL) throws {
        let file = folder.appendingPathComponent("player")
        if let text = try? String(contentsOf: file, encoding: .utf8),
            let known = UUID(uuidString: text.trimmingCharacters(in: .whitespacesAndNewlines))
        {
            self.init(identifier: known)
            return
        }
        self.init(identifier: UUID())
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("\(identifier.uuidString)\n".utf8).write(to: file, options: .atomic)
    }
}
