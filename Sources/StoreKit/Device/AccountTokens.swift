import Foundation
import StoreWire
import Synchronization

/// The accounts that this device has signed in to at one store, with their tokens, in a file of mode 0600.
final class AccountTokens: Sendable {
    struct SignedIn: Codable, Sendable {
        var token: String
        var account: AccountDescription
    }

    private struct Contents: Codable {
        var current: AccountID?
        var accounts: [String: SignedIn] = [:]
    }

    private let file: URL?
    private let contents: Mutex<Contents>

    /// With a file of nil, tokens last as long as the process.
    init(file: URL?) {
        self.file = file
        let stored = file.flatMap { BoundedFile.read($0, limit: 1 << 20) }
            .flatMap { try? JSONDecoder().decode(Contents.self, from: $0) }
        contents = Mutex(stored ?? Contents())
    }

    /// The account that shops now.
    var current: SignedIn? {
        contents.withLock { contents in contents.current.flatMap { contents.accounts[$0.rawValue] } }
    }

    func signedIn(_ account: AccountID) -> SignedIn? { contents.withLock { $0.accounts[account.rawValue] } }

    /// Remembers a token; it becomes the current account's unless another account was only asked to complete its own
    /// payment.
    func keep(_ signedIn: SignedIn, asCurrent: Bool) throws {
        try change { contents in
            contents.accounts[signedIn.account.accountID.rawValue] = signedIn
            if asCurrent || contents.current == nil { contents.current = signedIn.account.accountID }
        }
    }

    /// Forgets a token that the store no longer takes.
    func drop(_ token: String) throws {
        try change { contents in
            contents.accounts = contents.accounts.filter { $0.value.token != token }
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
