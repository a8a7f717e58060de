import Foundation

/// The player's identity for the store: an identifier that only the game can interpret. A game with accounts would use
/// a UUID of the account. This game creates a UUID at its first launch.
public struct Player: Sendable, Equatable {
    /// The player's identifier.
    public let identifier: UUID

    /// Creates a player with an identifier.
    public init(identifier: UUID) {
        self.identifier = identifier
    }

    /// Loads the player of this device, or creates a new one.
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
