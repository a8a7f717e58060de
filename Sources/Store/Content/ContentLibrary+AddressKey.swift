import Database

/// The key that signs the addresses of downloads, in a store with a key sealed.
extension ContentLibrary {
    private static let addressKeyPlace = "content-key"

    /// Reads the key, or keeps a new one.
    static func keptAddressKey(
        orNew new: [UInt8], _ secrets: StoreSecrets, _ connection: Connection
    ) throws -> [UInt8] {
        try connection.execute(
            "INSERT INTO content_key (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING",
            [try secrets.seal(new, addressKeyPlace)])
        guard let kept = try connection.queryOne("SELECT secret FROM content_key WHERE id = 1") else { return new }
        return try secrets.open(try kept.bytes(0), addressKeyPlace)
    }

    /// Seals the key, if there is one.
    /// - Parameter old: opens it; nil for one that is not sealed.
    static func sealAddressKey(from old: SecretBox?, to new: SecretBox, _ connection: Connection) throws {
        guard let kept = try connection.queryOne("SELECT secret FROM content_key WHERE id = 1") else { return }
        let bytes = try kept.bytes(0)
        let secret = try old.map { try $0.open(bytes, as: addressKeyPlace) } ?? bytes
        try connection.execute(
            "UPDATE content_key SET secret = $1 WHERE id = 1", [try new.seal(secret, as: addressKeyPlace)])
    }
}
