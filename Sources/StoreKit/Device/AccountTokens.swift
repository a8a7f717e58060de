import Foundation
import StoreWire
import Synchronization

/// The accounts that are signed in to one store on this device, with their tokens, in a file of mode 0600. All apps of
/// the device share the file.
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

    private typealias Change = @Sendable (inout Contents) -> Void

    private struct State {
        var contents: Contents
        /// The changes that could not be saved, oldest first. The next change saves them, too.
        var unsaved: [Change] = []
    }

    /// The most former accounts whose addresses are kept.
    private static let mostFormer = 64

    private let file: URL?
    private let state: Mutex<State>

    /// Reads the tokens from `file`. When `file` is nil, tokens last as long as the process.
    init(file: URL?) {
        self.file = file
        state = Mutex(State(contents: file.flatMap(AccountTokens.read) ?? Contents()))
    }

    private static func read(_ file: URL) -> Contents? {
        guard let bytes = BoundedFile.read(file, limit: 1 << 20) else { return nil }
        // Earlier versions wrote the name with a capital D.
        let text = String(decoding: bytes, as: UTF8.self).replacing("\"accountID\":", with: "\"accountId\":")
        return try? JSONDecoder().decode(Contents.self, from: Data(text.utf8))
    }

    /// The current account, which pays for new purchases.
    var current: SignedIn? {
        state.withLock { state in state.contents.current.flatMap { state.contents.accounts[$0.rawValue] } }
    }

    func signedIn(_ account: AccountID) -> SignedIn? { state.withLock { $0.contents.accounts[account.rawValue] } }

    /// The e-mail address of the account's last sign-in, even when the store has rejected its token since.
    func email(of account: AccountID) -> String? {
        state.withLock {
            $0.contents.accounts[account.rawValue]?.account.email ?? $0.contents.formerEmails?[account.rawValue]
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

    /// Changes the tokens in memory and in the file. The file may have changed since it was read, by another app. The
    /// account that pays for this app's purchases stays, even when the customer signed in to another one there.
    private func change(_ change: @escaping Change) throws {
        try state.withLock { state in
            let before = state.contents.current
            change(&state.contents)
            let own = state.contents.current ?? before
            guard let file else { return }
            state.unsaved.append(change)
            let lock = try FolderLock(file.deletingLastPathComponent(), waits: true)
            defer { lock.release() }
            var contents = Self.read(file) ?? state.contents
            for change in state.unsaved { change(&contents) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            try BoundedFile.write(try encoder.encode(contents), to: file)
            if let own, contents.accounts[own.rawValue] != nil { contents.current = own }
            state = State(contents: contents)
        }
    }
}
