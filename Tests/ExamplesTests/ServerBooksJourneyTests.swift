import Foundation
import MerchantWire
import TestSupport
import Testing

/// The program `server-books` with the real store and the real merchant.
@Suite(
    "Server Books with its server", .timeLimit(.minutes(1)),
    .enabled(if: SampleProgram.isBuilt("server-books"), "server-books is not built"))
@MainActor
struct ServerBooksJourneyTests {
    /// What goes wrong with the first purchase.
    enum Trouble: String, CaseIterable, Sendable, CustomTestStringConvertible {
        // The app is killed.
        case killedAfterPurchase = "purchased"
        case killedAfterRedemption = "redeemed"
        case killedAtTheDownloadsBeginning = "0"
        case killedInTheDownload = "40"
        case killedAfterDelivery = "delivered"
        case killedAfterFinishing = "finished"
        // The merchant is down, or what it answers is lost.
        case merchantIsDownAfterPurchase
        case confirmationIsLost
        case merchantIsDownAfterRedemption
        case merchantIsStartedAnewInTheDownload
        // The store's answer is lost, or it is down.
        case receiptOfPaymentIsLost
        case storeIsDownAtFinishing

        var testDescription: String { String(reflecting: self).split(separator: ".").last.map(String.init) ?? rawValue }
    }

    @Test(arguments: Trouble.allCases, [[], ["--finish-first"]])
    func `after any interruption an issue is delivered once, without another payment sheet`(
        trouble: Trouble, options: [String]
    ) async throws {
        // Where its server is stopped, it is so large that it cannot lie in buffers.
        let isLarge = [.merchantIsStartedAnewInTheDownload, .killedInTheDownload].contains(trouble)
        let text = String(
            repeating: "The ferry left at nine, and came back at ten.\n", count: isLarge ? 250_000 : 5_000)
        try await withShop { shop in
            try await shop.merchant.publish("issue-1", text)
            let first = try await go(wrong: trouble, shop, ["--buy", "issue1"] + options)
            switch trouble {
            case .receiptOfPaymentIsLost:
                #expect(first.status == 0, "\(first)")
            case .storeIsDownAtFinishing:
                break
            case .merchantIsDownAfterPurchase, .confirmationIsLost, .merchantIsDownAfterRedemption,
                .merchantIsStartedAnewInTheDownload:
                #expect(first.status == 1, "\(first)")
            default:
                #expect(first.status == 9, "\(first)")
            }
            // A sheet would be declined now, and the purchase with it.
            let next = try await shop.books.run(["--download"] + options, sheet: "decline")
            #expect(next.status == 0, "\(first) \(next)")
            try await launchUntilFinished(shop)
            #expect(try shop.files().map { try String(contentsOf: $0, encoding: .utf8) == text } == [true])
            #expect(try await shop.store.finished() == [true], "\(first) \(next)")
            #expect(try await shop.merchant.contents(of: "reader") == ["issue-1"])
            #expect(try await shop.merchant.findings() == [])
            let list = try await shop.books.run(["--list"], sheet: "decline")
            #expect(list.output.hasPrefix("issue1  The Ferry  yours, version 1\n"), "\(list)")
            let again = try await shop.books.run(["--buy", "issue1"] + options, sheet: "decline")
            #expect(again.status == 0 && again.output == "The Ferry is yours already.\n", "\(again)")
            #expect(try await shop.store.finished() == [true])
        }
    }

    /// What an earlier launch finished is told to the store at the next, unless that one ends before: the app waits
    /// five seconds for it.
    private func launchUntilFinished(_ shop: Shop) async throws {
        for _ in 0..<10 where try await shop.store.finished() != [true] {
            #expect(try await shop.books.run(["--list"], sheet: "decline").status == 0)
        }
    }

    /// Runs the app into the trouble, and mends what broke.
    private func go(
        wrong trouble: Trouble, _ shop: Shop, _ arguments: [String]
    ) async throws -> SampleProgram.Result {
        let (merchant, books) = (shop.merchant, shop.books)
        switch trouble {
        case .killedAfterPurchase, .killedAfterRedemption, .killedAtTheDownloadsBeginning, .killedInTheDownload,
            .killedAfterDelivery, .killedAfterFinishing:
            return try await books.run(arguments + ["--crash-at", trouble.rawValue])
        case .merchantIsDownAfterPurchase, .confirmationIsLost:
            if trouble == .confirmationIsLost {
                merchant.relay.cut(onReceiving: #""redeemedAt""#)
            } else {
                merchant.relay.cut(onSending: "POST /v1/redemptions", afterForwarding: false)
            }
            let result = try await books.run(arguments)
            #expect(try await merchant.contents(of: "reader").count == (trouble == .confirmationIsLost ? 1 : 0))
            merchant.relay.mend()
            return result
        case .merchantIsDownAfterRedemption:
            merchant.relay.cut(onSending: "GET /v1/content/issue-1", afterForwarding: false)
            let result = try await books.run(arguments)
            merchant.relay.mend()
            return result
        case .merchantIsStartedAnewInTheDownload:
            merchant.relay.hold(afterReceiving: 4 << 20)
            async let result = books.run(arguments)
            await merchant.relay.waitUntilSprung()
            await merchant.stop()
            merchant.relay.cut()
            let ended = try await result
            #expect(try shop.files().isEmpty)
            try await merchant.start()
            merchant.relay.mend()
            return ended
        case .receiptOfPaymentIsLost:
            shop.cable.cut(onSending: "POST /device/v1/purchases", afterForwarding: true)
            async let result = books.run(arguments)
            await shop.cable.waitUntilSprung()
            shop.cable.mend()
            return try await result
        case .storeIsDownAtFinishing:
            shop.cable.cut(onSending: "/finish HTTP", afterForwarding: false)
            let result = try await books.run(arguments)
            #expect(try await shop.store.finished() == [false])
            shop.cable.mend()
            return result
        }
    }

    @Test func `while the merchant or the store is unavailable nothing is sold, and the list of issues stays`()
        async throws
    {
        try await withShop { shop in
            try await shop.publishIssues()
            let shelf = "issue1  The Ferry  $1.99\nissue2  The Orchard  $1.99\n"
            #expect(try await shop.books.run("--list").output == shelf)
            shop.merchant.relay.cut()
            let closed = try await shop.books.run("--list")
            #expect(closed.output == "(The server cannot be reached. Try again later.)\n" + shelf, "\(closed)")
            let unsold = try await shop.books.run("--buy", "issue2")
            #expect(unsold.status == 1 && unsold.output.contains("The server cannot be reached."), "\(unsold)")
            shop.merchant.relay.mend()
            shop.cable.cut()
            let priceless = try await shop.books.run("--buy", "issue2")
            #expect(priceless.status == 1 && priceless.output == "Network down?\n", "\(priceless)")
            #expect(try await shop.store.finished().isEmpty)
            shop.cable.mend()
            #expect(try await shop.books.run("--buy", "issue2").status == 0)
            #expect(try await shop.store.finished() == [true])
        }
    }

    @Test(arguments: ["purchased", "redeemed", "0", "delivered"], [[], ["--finish-first"]])
    func `buying an issue again during its delivery shows no payment sheet`(moment: String, options: [String])
        async throws
    {
        try await withShop { shop in
            try await shop.publishIssues()
            let buy = ["--buy", "issue1"] + options
            #expect(try await shop.books.run(buy + ["--crash-at", moment]).status == 9)
            let again = try await shop.books.run(buy, sheet: "decline")
            #expect(again.status == 0, "\(again)")
            #expect(try await shop.books.run("--read", "issue1").output == SampleMerchant.text(of: "issue-1"))
            #expect(try await shop.store.finished() == [true], "\(again)")
            // Neither is the same reader on another device, who has it from the merchant.
            let tablet = try await shop.merchant.program(device: "tablet", user: "reader")
            let other = try await tablet.run(buy, sheet: "decline")
            #expect(other.status == 0 && other.output.contains("issue-1 is yours, in version 1.\n"), "\(other)")
            #expect(try await shop.store.finished() == [true])
        }
    }

    @Test func `at a terminal an issue is bought and read by its name`() async throws {
        try await withShop { shop in
            try await shop.publishIssues()
            let terminal = try shop.books.atTerminal()
            try await terminal.expect("issue1  The Ferry  $1.99")
            try await terminal.expect("Which (a name buys or opens it)? ")
            terminal.type("issue1")
            try await terminal.signIn()
            try await terminal.expect("[b]uy or [c]ancel? ")
            terminal.type("b")
            try await terminal.expect("issue-1: 100 %")
            try await terminal.expect("issue-1 is yours, in version 1.")
            try await terminal.expect("Which (a name buys or opens it)? ")
            terminal.type("issue1")
            try await terminal.expect("Maren was on the landing at six.")
            try await terminal.expect("Which (a name buys or opens it)? ")
            terminal.type("q")
            #expect(await terminal.ending() == 0)
            #expect(try await shop.store.finished() == [true])
        }
    }

    @Test func `a new issue needs no update of the app, and reaches every device of its reader`() async throws {
        try await withShop { shop in
            try await shop.publishIssues()
            let (merchant, books) = (shop.merchant, shop.books)
            #expect(try await books.run("--buy", "issue1").status == 0)
            #expect(try await books.run("--read", "issue1").output == SampleMerchant.text(of: "issue-1"))
            #expect(
                try await books.run("--read", "issue2").output == "issue2 is not here. (--buy issue2, or --update)\n")

            try await merchant.publish("issue-3", SampleMerchant.text(of: "issue-3"))
            try await merchant.sell("com.example.serverbooks.issue3", giving: "issue-3")
            #expect(try await books.run("--list").output.hasSuffix("issue3  The Bell  $2.99\n"))
            #expect(try await books.run("--buy", "issue3").status == 0)

            // Another device of the same reader needs nothing of the store's; another reader gets nothing.
            let other = try await merchant.program(device: "tablet", user: "reader")
            let updated = try await other.run("--update")
            #expect(
                updated.status == 0 && updated.output.contains("issue-1 is yours")
                    && updated.output.contains("issue-3 is yours"), "\(updated)")
            let stranger = try await merchant.program(device: "other", user: "stranger")
            #expect(try await stranger.run("--update").output == "")

            // A newer version of what is there.
            try await merchant.publish("issue-1", "The Ferry\n\nRevised.\n")
            let newer = try await books.run("--update")
            #expect(newer.status == 0 && newer.output.contains("issue-1 is yours, in version 2."), "\(newer)")
            #expect(try await books.run("--read", "issue1").output == "The Ferry\n\nRevised.\n")

            try Data("no token".utf8).write(to: shop.store.folder.appendingPathComponent("token-reader"))
            let signedOut = try await books.run("--update")
            #expect(signedOut.status == 1 && signedOut.output == "Sign in again.\n", "\(signedOut)")
            #expect(try await merchant.findings() == [])
        }
    }

    // MARK: The parties

    /// The store behind a cable of its own, the merchant, and the app on one device.
    struct Shop {
        let store: SampleStore
        let cable: Relay
        let merchant: SampleMerchant
        let books: SampleProgram

        @MainActor func publishIssues() async throws {
            for issue in ["issue-1", "issue-2"] {
                try await merchant.publish(ContentItemID(issue), SampleMerchant.text(of: issue))
            }
        }

        /// The whole files of issues on the device.
        func files() throws -> [URL] {
            let device = store.folder.appendingPathComponent("device")
            let all = FileManager.default.enumerator(at: device, includingPropertiesForKeys: nil)
            return (all?.allObjects as? [URL] ?? []).filter {
                $0.lastPathComponent == "content" && !$0.hasDirectoryPath
            }
        }
    }

    private func withShop(_ body: @MainActor (Shop) async throws -> Void) async throws {
        try await SampleStore.with { store in
            let cable = try Relay(to: UInt16(URL(string: store.addresses.sandbox)?.port ?? 0))
            defer { cable.close() }
            try await SampleMerchant.with(store) { merchant in
                let books = try await merchant.program(
                    device: "device", user: "reader",
                    variables: ["CORNERSTORE_STORE": "http://127.0.0.1:\(cable.port)"])
                try await body(Shop(store: store, cable: cable, merchant: merchant, books: books))
            }
        }
    }
}
