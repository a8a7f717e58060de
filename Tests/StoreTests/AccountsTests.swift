import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct AccountsTests {
    private static let new = NewAccount(email: "Ape@Example.com", password: "banana split", storefront: "DEU")

    private static func signIn(_ password: String, email: String = "ape@example.com") -> SignInRequest {
        SignInRequest(email: email, password: password, deviceID: UUID())
    }

    @Test(arguments: Backend.available) func aDeviceSignsInAndItsTokenNamesTheAccount(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = test.store.accounts
            let made = try await accounts.create(Self.new, at: 5)
            #expect(made.email == "ape@example.com" && made.createdAt == 5 && !made.isLocked)
            let (token, account) = try await accounts.signIn(
                Self.signIn("banana split", email: "APE@example.COM"), at: 6)
            #expect(account == made)
            #expect(token.utf8.count >= 43)
            #expect(try await accounts.account(token: token) == made)
            let (second, _) = try await accounts.signIn(Self.signIn("banana split"), at: 7)
            #expect(second != token)
            try await accounts.signOut(token: token)
            #expect(try await refusal { try await accounts.account(token: token) } == .notSignedIn)
            #expect(try await accounts.account(token: second) == made)
            for bad in ["", "x", String(repeating: "a", count: 100_000), "a\0b"] {
                #expect(try await refusal { try await accounts.account(token: bad) } == .notSignedIn)
            }
        }
    }

    @Test(arguments: Backend.available) func anAddressIsTakenOnceInAnyCase(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            _ = try await test.store.accounts.create(Self.new, at: 5)
            var other = Self.new
            other.email = "APE@EXAMPLE.COM"
            #expect(try await refusal { try await test.store.accounts.create(other, at: 5) } == .invalidRequest)
            #expect(try await test.count("accounts") == 1)
        }
    }

    @Test(arguments: Backend.available) func addressesAreFoundByIdentifiers(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = test.store.accounts
            let made = try await accounts.create(Self.new, at: 5)
            let unknown = (0..<120).map { AccountID("unknown\($0)") }
            let found = try await accounts.addresses(of: [made.accountID] + unknown + [made.accountID])
            #expect(found == [made.accountID: "ape@example.com"])
            #expect(try await accounts.addresses(of: []).isEmpty)
        }
    }

    @Test(
        arguments: [
            ("", "p", "USA"), ("nobody", "p", "USA"), ("a@b@c", "p", "USA"), ("@b", "p", "USA"), ("a@", "p", "USA"),
            ("a b@c", "p", "USA"), ("a\0@c", "p", "USA"), ("a\n@c", "p", "USA"), ("Jose\u{301}@c", "p", "USA"),
            (String(repeating: "a", count: 250) + "@example.com", "p", "USA"), ("a@b.c", "", "USA"),
            ("a@b.c", String(repeating: "p", count: 1025), "USA"), ("a@b.c", "p", "XYZ"), ("a@b.c", "p", "usa"),
            ("a@b.c", "p", ""),
        ])
    func whatCannotBeAnAccountIsRefused(_ email: String, _ password: String, _ storefront: String) async throws {
        try await Backend.sqlite.withStore { test async throws in
            let new = NewAccount(email: email, password: password, storefront: storefront)
            #expect(try await refusal { try await test.store.accounts.create(new, at: 5) } == .invalidRequest)
            #expect(try await test.count("accounts") == 0)
        }
    }

    @Test(arguments: Backend.available) func theTenthWrongPasswordLocksUntilTheOperatorUnlocks(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let accounts = test.store.accounts
            let made = try await accounts.create(Self.new, at: 5)
            let (token, _) = try await accounts.signIn(Self.signIn("banana split"), at: 6)
            #expect(try await accounts.account(token: token) == made)
            // Eight are counted already; a right one after the ninth begins the count again.
            try await test.count(8)
            #expect(try await refusal { try await accounts.signIn(Self.signIn("wrong"), at: 6) } == .wrongPassword)
            _ = try await accounts.signIn(Self.signIn("banana split"), at: 6)
            #expect(try await refusal { try await accounts.signIn(Self.signIn("wrong"), at: 6) } == .wrongPassword)
            #expect(try await accounts.account(token: token) == made)
            try await test.count(8)
            for _ in 0..<2 {
                #expect(try await refusal { try await accounts.signIn(Self.signIn("wrong"), at: 6) } == .wrongPassword)
            }
            #expect(
                try await refusal { try await accounts.signIn(Self.signIn("banana split"), at: 7) } == .accountLocked)
            // The token that was good before is not any more, though it was remembered.
            #expect(try await refusal { try await accounts.account(token: token) } == .accountLocked)
            _ = try await accounts.change(made.accountID, AccountChange(isLocked: false))
            #expect(try await accounts.account(token: token) == made)
            #expect(try await accounts.signIn(Self.signIn("banana split"), at: 8).account == made)
            #expect(
                try await refusal { try await accounts.signIn(Self.signIn("x", email: "who@example.com"), at: 8) }
                    == .wrongPassword)
            #expect(
                try await refusal { try await accounts.signIn(Self.signIn("x", email: "a\0@b"), at: 8) }
                    == .wrongPassword)
        }
    }

    @Test(arguments: Backend.available) func concurrentGuessesAllCount(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = test.store.accounts
            _ = try await accounts.create(Self.new, at: 5)
            try await test.count(7)
            let codes = try await withThrowingTaskGroup(of: WireError.Code?.self) { group in
                for guess in (0..<4).map({ "wrong \($0)" }) {
                    group.addTask { try await refusal { try await accounts.signIn(Self.signIn(guess), at: 6) } }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.allSatisfy { $0 == .wrongPassword || $0 == .accountLocked })
            #expect(
                try await refusal { try await accounts.signIn(Self.signIn("banana split"), at: 6) } == .accountLocked)
        }
    }

    /// Transactions that write the same row wait for one another.
    @Test(.enabled(if: Backend.available.contains(.postgresql)))
    func guessesAtUnknownAddressesAreWrittenToDifferentRows() async throws {
        try await Backend.postgresql.withStore { test async throws in
            for digit in 0..<16 {
                _ = try await test.account("\(digit)@example.com", id: String(digit, radix: 16) + "0")
            }
            /// The rows, each with the transaction that wrote it last.
            func rows() async throws -> [String: String] {
                try await test.database.read { connection in
                    let rows = try connection.query("SELECT account_id, CAST(xmin AS TEXT) FROM accounts")
                    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.string(0), try $0.string(1)) })
                }
            }
            func written(_ email: String) async throws -> Set<String> {
                let before = try await rows()
                #expect(
                    try await refusal {
                        try await test.store.accounts.signIn(Self.signIn("x", email: email), at: 6)
                    } == .wrongPassword)
                return Set(try await rows().filter { before[$0.key] != $0.value }.keys)
            }
            var all: Set<String> = []
            for number in 0..<8 {
                // One row, as of a known address, and the same each time.
                let first = try await written("who\(number)@example.com")
                #expect(first.count == 1)
                if number == 0 { #expect(try await written("WHO0@example.com") == first) }
                all.formUnion(first)
            }
            #expect(all.count >= 4, "\(all)")
            let counts = try await test.database.read {
                try $0.query("SELECT DISTINCT failed_sign_ins FROM accounts").map { try $0.int(0) }
            }
            #expect(counts == [0])
        }
    }

    @Test(arguments: Backend.available) func theOperatorsChangesApplyToTheNextRequest(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let accounts = test.store.accounts
            let made = try await accounts.create(Self.new, at: 5)
            let (token, _) = try await accounts.signIn(Self.signIn("banana split"), at: 6)
            _ = try await accounts.account(token: token)
            let changed = try await accounts.change(
                made.accountID, AccountChange(storefront: "JPN", paymentsAllowed: false, asksToBuy: true))
            #expect(changed.storefront == "JPN" && !changed.paymentsAllowed && changed.asksToBuy)
            #expect(try await accounts.account(token: token) == changed)
            #expect(try await accounts.change(made.accountID, AccountChange()) == changed)
            #expect(try await refusal { try await accounts.change("nobody", AccountChange()) } == .invalidRequest)
            #expect(
                try await refusal { try await accounts.change(made.accountID, AccountChange(storefront: "Mars")) }
                    == .invalidRequest)
            #expect(try await accounts.account(email: "ape@EXAMPLE.com") == changed)
            #expect(try await accounts.list(AccountQuery()).rows.map(\.account) == [changed])
            #expect(try await accounts.list(AccountQuery(after: "ape@example.com")).rows.isEmpty)
        }
    }

    @Test(arguments: Backend.available) func passwordsAndTokensAreStoredOnlyAsHashes(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            _ = try await test.store.accounts.create(Self.new, at: 5)
            let (token, _) = try await test.store.accounts.signIn(Self.signIn("banana split"), at: 6)
            let kept = try await test.database.read { connection in
                var kept: [UInt8] = []
                let account = try #require(
                    try connection.queryOne("SELECT password_salt, password_hash, email FROM accounts"))
                kept += try account.bytes(0) + account.bytes(1) + Array(account.string(2).utf8)
                let row = try #require(
                    try connection.queryOne("SELECT token_digest, device_id, account_id FROM device_tokens"))
                return try kept + row.bytes(0) + Array(row.string(1).utf8) + Array(row.string(2).utf8)
            }
            let text = String(decoding: kept, as: UTF8.self)
            #expect(!text.contains("banana") && !text.contains(token) && !text.contains(token.prefix(16)))
            #expect(kept.count > 64)
        }
    }
}

extension TestStore {
    /// Says how many wrong passwords there were; each real one takes its time.
    fileprivate func count(_ wrongPasswords: Int) async throws {
        try await database.write { try $0.execute("UPDATE accounts SET failed_sign_ins = $1", [wrongPasswords]) }
    }
}
