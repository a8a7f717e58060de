import Foundation
import MerchantClient
import Testing

@testable import ServerBooks

@Suite("Server Books' arguments", .timeLimit(.minutes(1)))
struct ServerBooksTests {
    @Test func `arguments are parsed`() throws {
        #expect(try ServerBooksOptions(arguments: []).action == .ask)
        let options = try ServerBooksOptions(arguments: [
            "--buy", "issue2", "--crash-at", "30", "--finish-first", "--merchant", "http://127.0.0.1:8410",
        ])
        #expect(options.action == .buy("issue2") && options.crash == .percent(30) && options.finishesFirst)
        #expect(options.merchant == URL(string: "http://127.0.0.1:8410"))
        #expect(try ServerBooksOptions(arguments: ["--crash-at", "redeemed"]).crash == .redeemed)
        #expect(try ServerBooksOptions(arguments: ["--update", "-h"]).action == .help)
    }

    @Test(arguments: [
        ["--buy"], ["--buy", "--list"], ["--buy", "issue1", "--read", "issue1"], ["--what"], ["--crash-at", "100"],
        ["--crash-at", "soon"], ["--crash-at"], ["--merchant"],
    ])
    func `wrong arguments are refused`(arguments: [String]) {
        #expect(throws: ServerBooksOptions.Misuse.self) { try ServerBooksOptions(arguments: arguments) }
    }

    @Test func `an empty variable names no token file`() throws {
        let options = try ServerBooksOptions(arguments: ["--merchant", "http://127.0.0.1:8410"])
        let account = try ReaderAccount(options, environment: ["CORNERSTORE_USER_TOKEN_FILE": ""])
        #expect(throws: ReaderAccount.Missing.self) { try account.token() }
    }

    @Test func `an issue is any product that gives a file`() throws {
        let listed = MerchantProduct(
            bundleID: "com.example.serverbooks", productID: "com.example.serverbooks.issue99", kind: .nonConsumable,
            grants: [.credits("gems", amount: 1, lifetime: nil), .content("issue-99")])
        let issue = try #require(Issue(listed))
        #expect(issue.name == "issue99" && issue.title == "issue99" && issue.item == "issue-99" && issue.price == nil)
        var coins = listed
        coins.grants = [.credits("gems", amount: 1, lifetime: nil)]
        #expect(Issue(coins) == nil)
    }
}
