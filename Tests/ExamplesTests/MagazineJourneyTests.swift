import ControlWire
import Foundation
import MerchantWire
import Testing

/// The program `magazine` with the real store, and with a merchant or without one.
@Suite(
    "Magazine with its store", .timeLimit(.minutes(1)),
    .enabled(if: SampleProgram.isBuilt("magazine"), "magazine is not built"))
@MainActor
struct MagazineJourneyTests {
    private func subscription(_ store: SampleStore) async throws -> ControlAPI.Subscription {
        let found = try await store.control("subscriptions?account=ape@example.com")
        return try #require(try JSONDecoder().decode([ControlAPI.Subscription].self, from: found).first)
    }

    /// The day on which the last period ends.
    private func end(_ store: SampleStore) async throws -> String {
        String(try await subscription(store).expiresDate.prefix(10))
    }

    private func act(_ action: String, _ store: SampleStore) async throws {
        try await store.control("subscriptions/\(subscription(store).originalTransactionId)/\(action)", "{}")
    }

    @Test func `without a server, the receipt alone tells the subscription's life`() async throws {
        try await SampleStore.with { store in
            let magazine = SampleProgram(name: "magazine", store: store, device: "device")
            let list = try await magazine.run("--list")
            #expect(
                list.output == """
                      1  monthly  [ $2.99 a month, the first week free ]
                      2  yearly  [ $29.99 a year ]
                      3  premium  [ $5.99 a month ]

                    """ && list.status == 0, "\(list)")
            #expect(try await magazine.run("--status").output == "By the receipt: no subscription\n")

            let bought = try await magazine.run("--buy", "monthly")
            #expect(bought.output == "By the receipt: Monthly, free until \(try await end(store))\n", "\(bought)")
            let again = try await magazine.run(["--buy", "monthly"], sheet: "decline")
            #expect(again.output.hasPrefix("Monthly is yours already; nothing was bought.\n"), "\(again)")
            // There is one free week.
            #expect(try await magazine.run("--list").output.contains("monthly  [ $2.99 a month ]"))

            try await act("renew", store)
            let renewed = try await magazine.run("--status")
            #expect(renewed.output == "By the receipt: Monthly, paid until \(try await end(store))\n", "\(renewed)")
            // StoreKit delivers the renewal, and the app finishes it, at this launch or at a later one.
            for _ in 0..<10 where try await store.finished() != [true, true] { _ = try await magazine.run("--status") }
            #expect(try await store.finished() == [true, true])

            // The card fails. A receipt has no grace period.
            try await act("fail", store)
            let failed = try await magazine.run("--status")
            #expect(failed.output == "By the receipt: Monthly, over since \(try await end(store))\n", "\(failed)")
            try await act("recover", store)
            let recovered = try await magazine.run("--status")
            #expect(recovered.output == "By the receipt: Monthly, paid until \(try await end(store))\n", "\(recovered)")

            let upgraded = try await magazine.run("--buy", "premium")
            #expect(
                upgraded.output
                    == "By the receipt: Premium, instead of Monthly, paid until \(try await end(store))\n",
                "\(upgraded)")
            let other = SampleProgram(name: "magazine", store: store, device: "tablet")
            let restored = try await other.run("--restore")
            #expect(
                restored.status == 0 && restored.output.hasPrefix("Everything bought before is here.\n")
                    && restored.output.contains("By the receipt: Premium, instead of Monthly, paid until"),
                "\(restored)")

            try await store.control("transactions/\(subscription(store).transactionId)/refund", "{}")
            let refunded = try await magazine.run("--status")
            #expect(refunded.output.hasPrefix("By the receipt: Premium, refunded on "), "\(refunded)")
            let down = try await magazine.run("--buy", "yearly", isReachable: false)
            #expect(down.output == "Network down?\n" && down.status == 1, "\(down)")
        }
    }

    @Test func `a yearly plan waits for the end of the month`() async throws {
        try await SampleStore.with { store in
            let magazine = SampleProgram(name: "magazine", store: store, device: "device")
            #expect(try await magazine.run("--buy", "monthly").status == 0)
            let month = try await end(store)
            let chosen = try await magazine.run("--buy", "yearly")
            #expect(
                chosen.status == 0 && chosen.output == "By the receipt: Monthly, free until \(month)\n", "\(chosen)")
            #expect(try await subscription(store).renewalProductId == "com.example.magazine.yearly")
            try await act("renew", store)
            let renewed = try await magazine.run("--status")
            #expect(renewed.output == "By the receipt: Yearly, paid until \(try await end(store))\n", "\(renewed)")
        }
    }

    @Test func `the server grants each period to its user, on every device`() async throws {
        try await SampleStore.with { store in
            try await SampleMerchant.with(store) { merchant in
                let magazine = try await merchant.program("magazine", device: "device", user: "reader")
                let bought = try await magazine.run("--buy", "monthly")
                let week = try await end(store)
                #expect(
                    bought.output == """
                        By the receipt: Monthly, free until \(week)
                        By the server: Monthly, until \(week)

                        """, "\(bought)")
                #expect(try await store.finished() == [true])
                try await act("renew", store)
                let renewed = try await magazine.run("--status")
                let month = try await end(store)
                #expect(renewed.output.hasSuffix("By the server: Monthly, until \(month)\n"), "\(renewed)")

                // A device without a receipt, and another user.
                let tablet = try await merchant.program("magazine", device: "tablet", user: "reader")
                let other = try await tablet.run("--restore")
                #expect(other.output.hasSuffix("By the server: Monthly, until \(month)\n"), "\(other)")
                let stranger = try await merchant.program("magazine", device: "device", user: "stranger")
                let seen = try await stranger.run("--status")
                #expect(seen.output.hasSuffix("By the server: no subscription\n"), "\(seen)")

                merchant.relay.cut()
                let alone = try await magazine.run("--status")
                #expect(
                    alone.status == 0
                        && alone.output == """
                            By the receipt: Monthly, paid until \(month)
                            By the server: The server cannot be reached. Try again later.

                            """,
                    "\(alone)")
                merchant.relay.mend()
                #expect(try await merchant.findings() == [])
            }
        }
    }

    @Test func `at a terminal a plan is bought by its number`() async throws {
        try await SampleStore.with { store in
            let magazine = SampleProgram(name: "magazine", store: store, device: "device")
            let terminal = try magazine.atTerminal()
            try await terminal.expect("By the receipt: no subscription")
            try await terminal.expect("1  monthly  [ $2.99 a month, the first week free ]")
            try await terminal.expect("Which (a number buys it)? ")
            terminal.type("1")
            try await terminal.signIn()
            try await terminal.expect("[b]uy or [c]ancel? ")
            terminal.type("b")
            try await terminal.expect("By the receipt: Monthly, free until ")
            try await terminal.expect("Which (a number buys it)? ")
            terminal.type("q")
            #expect(await terminal.ending() == 0)
            #expect(try await store.finished() == [true])
        }
    }
}
