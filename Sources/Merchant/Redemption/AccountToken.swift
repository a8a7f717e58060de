import Crypto
import Database
import Foundation
import MerchantWire
import StoreWire

/// The UUID that a user's purchases carry (`applicationUsername`, `appAccountToken`), by which they find their owner when somebody
/// else stands at the counter.
enum AccountToken {
    /// A user's token: the same for good, and telling nobody who the user is who does not know the user's name. A UUID of version 8
    /// (RFC 9562, section 5.8) out of SHA-256.
    static func token(of user: UserID) -> String {
        var bytes = Array(SHA256.hash(data: Array("cornerstore.merchant.user\u{1F}\(user.rawValue)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
    }

    /// Whose purchase it is: who is named, if the merchant knows the name, else who is at the counter.
    static func owner(_ token: String?, signedIn user: UserID, _ connection: Connection) throws -> UserID {
        guard let token, !names(user, token) else { return user }
        return try owner(token, connection) ?? user
    }

    /// Whether it is one of the tokens that name a user.
    static func names(_ user: UserID, _ token: String) -> Bool {
        token.hasSameBytes(as: user.rawValue.lowercased()) || token.hasSameBytes(as: Self.token(of: user))
    }

    /// The user whose token it is, once the user has asked for it.
    static func owner(_ token: String, _ connection: Connection) throws -> UserID? {
        try connection.queryOne("SELECT user_id FROM account_tokens WHERE token = $1", [token])
            .map { UserID(try $0.string(0)) }
    }

    /// Makes a user's token known.
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
    /// Whether its token is one of a user's.
    func names(_ user: UserID) -> Bool { accountToken.map { AccountToken.names(user, $0) } ?? false }
}
