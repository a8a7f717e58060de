import Foundation
import Testing

/// The sheet on a terminal, as somebody at the keyboard meets it.
@Suite("The samples at a terminal", .timeLimit(.minutes(1)))
struct TerminalTests {
    @MainActor
    @Test(.enabled(if: SampleProgram.isBuilt("monkey-credits"), "monkey-credits is not built"))
    func `a customer signs in, buys, cancels and quits by typing`() async throws {
        try await SampleStore.with { store in
            let monkeys = SampleProgram(name: "monkey-credits", store: store, device: "device")
            let terminal = try monkeys.atTerminal()
            try await terminal.expect("Buy 10 credits  $1.99")
            try await terminal.expect("Which, and how many")
            terminal.type("2 x 3")
            try await terminal.expect("Sign in to the store.")
            try await terminal.signIn(password: "no bananas")
            try await terminal.expect("The password is not right.")
            try await terminal.signIn()
            try await terminal.expect("3 × $1.99 = $5.97")
            try await terminal.expect("Account: ape@example.com")
            try await terminal.expect("[b]uy or [c]ancel? ")
            terminal.type("b")
            try await terminal.expect("30 credits bought.")
            try await terminal.expect("Which, and how many")

            // Anything but a yes is a no, and nothing is charged for it.
            terminal.type("1")
            try await terminal.expect("[b]uy or [c]ancel? ")
            terminal.type("later")
            try await terminal.expect("Which, and how many")
            terminal.type("q")
            #expect(await terminal.ending() == 0)
            #expect(!terminal.said.contains(SampleStore.password) && !terminal.said.contains("no bananas"))
            #expect(try await store.finished() == [true])
            #expect(try await monkeys.run("--balance").output == "30\n")
        }
    }

    @MainActor
    @Test(.enabled(if: SampleProgram.isBuilt("photo-filters"), "photo-filters is not built"))
    func `an owned filter is offered for free, and a sign-in can be cancelled`() async throws {
        try await SampleStore.with { store in
            let first = SampleProgram(name: "photo-filters", store: store, device: "first")
            #expect(try await first.run("--buy", "mono").status == 0)
            let terminal = try SampleProgram(name: "photo-filters", store: store, device: "second").atTerminal()
            try await terminal.expect("Which (a number buys or applies it)? ")
            terminal.type("2")
            try await terminal.expect("E-mail (empty to cancel): ")
            terminal.type("")
            try await terminal.expect("Which (a number buys or applies it)? ")
            terminal.type("2")
            try await terminal.signIn()
            try await terminal.expect("You have bought this before: get it again for free.")
            try await terminal.expect("[g]et or [c]ancel? ")
            terminal.type("g")
            try await terminal.expect("The filter mono is yours.")
            try await terminal.expect("Which (a number buys or applies it)? ")
            terminal.type("q")
            #expect(await terminal.ending() == 0)
        }
    }
}
