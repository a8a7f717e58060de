import Foundation
import StoreWire
import Synchronization

/// The accounts that are signed in to one store on this device, with their tokens, in a file of mode 0600.
final class AccountTokens: Sendable {
    struct SignedIn: Codable, Sendable {
        var token: String
        var account: AccountDescription
    }

    private struct Contents: Codable {
        var current: AccountID?
        var accounts: [String: SignedIn] = [:]
        /// The e-mail addresses of accounts whose tokens the store rejected; nil in files of earlier versions.
        var formerEmails: [String: String]?
    }

    /// The most former accounts whose addresses are kept.
    private static let mostFormer = 64

    private let file: URL?
    private let contents: Mutex<Contents>

    /// Reads the tokens from `file`. When `file` is nil, tokens last as long as the process.
    init(file: URL?) {
        self.file = file
        let stored = file.flatMap { BoundedFile.read($0, limit: 1 << 20) }
            .flatMap { bytes in
                // Earlier versions wrote the name with a capital D.
                let text = String(decoding: bytes, as: UTF8.self).replacing("\"accountID\":", with: "\"accountId\":")
                return try? JSONDecoder().decode(Contents.self, from: Data(text.utf8))
            }
        contents = Mutex(stored ?? Contents())
    }

    /// The current account, which pays for new purchases.
    var current: SignedIn? {
        contents.withLock { contents in contents.current.flatMap { contents.accounts[$0.rawValue] } }
    }

    func signedIn(_ account: AccountID) -> SignedIn? { contents.withLock { $0.accounts[account.rawValue] } }

    /// The e-mail address of the account's last sign-in, even when the store has rejected its token since.
    func email(of account: AccountID) -> String? {
        contents.withLock {
            $0.accounts[account.rawValue]?.account.email ?? $0.formerEmails?[account.rawValue]
        }
    }

    /// Saves a token. The account becomes the current one if `asCurrent` is true or there is no current account.
    /// `asCurrent` is false for an account that signed in only to complete its own payment.
    func keep(_ signedIn: SignedIn, asCurrent: Bool) throws {
        try change { contents in
            contents.accounts[signedIn.account.accountID.rawValue] = signedIn
            contents.formerEmails?[signedIn.account.accountID.rawValue] = nil
            if asCurrent || contents.current == nil { contents.current = signedIn.account.accountID }
        }
    }

    /// Removes a token that the store has rejected, and remembers the account's address.
    func drop(_ token: String) throws {
        try change { contents in
            for (key, signedIn) in contents.accounts where signedIn.token == token {
                contents.accounts[key] = nil
                var former = contents.formerEmails ?? [:]
                if former.count >= Self.mostFormer, let some = former.keys.min() { former[some] = nil }
                former[key] = signedIn.account.email
                contents.formerEmails = former
            }
            if let current = contents.current, contents.accounts[current.rawValue] == nil { contents.current = nil }
        }
    }

    private func change(_ body: (inout Contents) -> Void) throws {
        try contents.withLock { contents in
            body(&contents)
            guard let file else { return }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            try BoundedFile.write(try encoder.encode(contents), to: file)
        }
    }
}
