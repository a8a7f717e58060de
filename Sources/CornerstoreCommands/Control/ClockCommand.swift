import ArgumentParser
import Foundation
import StoreReceipts
import StoreServer

/// `cornerstore clock`: the clock by which a store lives.
struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock",
        abstract: "Show or move a store's clock.",
        discussion: """
            Renewals, expiry and all that waits obey this clock, and so do the dates in receipts.

              cornerstore clock
              cornerstore clock advance 3d12h
              cornerstore clock advance -1h
              cornerstore clock set 2027-01-31T12:00:00Z --environment production
              cornerstore clock reset
            """,
        subcommands: [Show.self, Set.self, Advance.self, Freeze.self, Resume.self, Reset.self],
        defaultSubcommand: Show.self)

    /// What every subcommand takes.
    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func change(_ change: ControlAPI.ClockChange) async throws {
            let path = ControlClient.path(environment.environment, "clock")
            try report(try await control.client().send("PUT", path, change))
        }

        func report(_ clock: ControlAPI.Clock) throws {
            try Console.current.report(clock, json: output.json) { style in
                let state =
                    switch (clock.frozen, clock.offset) {
                    case (true, _): style.accent("frozen")
                    case (false, -999...999): "running with this machine's clock"
                    case (false, let offset):
                        style.accent(Span.text(offset.magnitude.asMilliseconds) + (offset < 0 ? " behind" : " ahead"))
                    }
                return "\(clock.now)  \(state)  \(style.dim("(\(environment.environment.name))"))"
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the time.", discussion: "  cornerstore clock show --environment production")
        @OptionGroup var options: Options

        func run() async throws {
            let path = ControlClient.path(options.environment.environment, "clock")
            try options.report(try await options.control.client().get(path))
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Set the time; a clock that runs goes on from there.")
        @Argument(help: "ISO 8601, such as 2027-01-31T12:00:00Z.")
        var date: String
        @OptionGroup var options: Options

        func validate() throws {
            guard ReceiptDate(rfc3339: date.utf8) != nil else {
                throw ValidationError(
                    "“\(Style.printable(date))” is not a date that exists. Write one in ISO 8601, such as 2027-01-31T12:00:00Z."
                )
            }
        }

        func run() async throws { try await options.change(.init(set: date)) }
    }

    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move the time on, or back.", discussion: "  cornerstore clock advance -1h")
        @Argument(help: "How far, in w, d, h, m, s: 3d12h; back with a minus.")
        var span: Span
        @OptionGroup var options: Options

        func run() async throws { try await options.change(.init(advance: span.milliseconds)) }
    }

    struct Freeze: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Stop the clock.")
        @OptionGroup var options: Options

        func run() async throws { try await options.change(.init(freeze: true)) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Let a stopped clock go on.")
        @OptionGroup var options: Options

        func run() async throws { try await options.change(.init(freeze: false)) }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Go with this machine's clock again.")
        @OptionGroup var options: Options

        func run() async throws { try await options.change(.init(reset: true)) }
    }
}

extension UInt64 {
    fileprivate var asMilliseconds: Int64 { Int64(clamping: self) }
}
