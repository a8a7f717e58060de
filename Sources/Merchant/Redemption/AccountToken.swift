import CornerstoreEncoding
import Crypto
import Database
import Foundation
import MerchantWire
import StoreWire

/// The UUID in a user's purchases (`applicationUsername`, `appAccountToken`). It identifies the owner when another user
/// is signed in at the redemption.
enum AccountToken {
    /// A user's token. It never changes, and it does not reveal the user's name to anybody who does not know it. It is
    /// a UUID of version 8 (RFC 9562, section 5.8), made from a SHA-256.
    static func token(of user: UserID) -> String {
        var bytes = Array(SHA256.hash(data: Array("cornerstore.merchant.user\u{1F}\(user.rawValue)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hexadecimal.encoded(bytes[$0]) }.joined(separator: "-")
    }

    /// Whether a token is one of a user's tokens.
    static func names(_ user: UserID, _ token: String) -> Bool {
        token.hasSameBytes(as: user.rawValue.lowercased()) || token.hasSameBytes(as: Self.token(of: user))
    }

    /// The user who registered a token; nil when nobody has.
    static func owner(_ token: String, _ connection: Connection) throws -> UserID? {
        try connection.queryOne("SELECT user_id FROM account_tokens WHERE token = $1", [token])
            .map { UserID(try $0.string(0)) }
    }

    /// Registers a user's tokens.
    static func register(_ user: UserID, _ connection: Connection) throws {
        for token in [Self.token(of: user)]
            + (UUID(uuidString: user.rawValue) == nil ? [] : [user.rawValue.lowercased()])
        {
            try connection.execute(
                "INSERT INTO account_tokens (token, user_id) VALUES ($1, $2) ON CONFLICT (token) DO NOTHING",
                [token, user.rawValue])
        }
    }
}

extension VerifiedPurchase {
    /// Whether the purchase's token is one of a user's tokens.
    func names(_ user: UserID) -> Bool { accountToken.map { AccountToken.names(user, $0) } ?? false }
}
