import ArgumentParser
import ControlWire
import Foundation
import StoreReceipts

/// `cornerstore clock`: shows and moves a store's clock.
struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock",
        abstract: "Show or move a store's clock.",
        discussion: """
            Renewals, expirations, all other scheduled work and the dates in receipts follow this clock.

              cornerstore clock
              cornerstore clock advance 3d12h
              cornerstore clock advance -1h
              cornerstore clock set 2027-01-31T12:00:00Z --environment production
              cornerstore clock reset
            """,
        subcommands: [Show.self, Set.self, Advance.self, Freeze.self, Resume.self, Reset.self],
        defaultSubcommand: Show.self)

    /// The options of every subcommand.
    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func change(_ change: ControlAPI.ClockChange) async throws {
            try report(try await control.client().send(.changeClock(environment.environment), change))
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
            try options.report(try await options.control.client().send(.clock(options.environment.environment)))
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Set the time. A running clock continues from there.")
        @Argument(help: "The time in ISO 8601, such as 2027-01-31T12:00:00Z.")
        var date: String
        @OptionGroup var options: Options

        func validate() throws {
            guard ReceiptDate(rfc3339: date.utf8) != nil else {
                throw ValidationError(
                    "“\(Style.printable(date))” is not a valid date. Use ISO 8601, such as 2027-01-31T12:00:00Z."
                )
            }
        }

        func run() async throws { try await options.change(.init(set: date)) }
    }

    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move the time forward or back.",
            discussion: """
                The command returns when everything that is due for subscriptions is done.

                  cornerstore clock advance 1mo
                  cornerstore clock advance -1h
                """)
        @Argument(help: "The span in y, mo, w, d, h, m and s, such as 1y or 3d12h. A minus moves the time back.")
        var span: Span
        @OptionGroup var options: Options

        func run() async throws {
            try await options.change(.init(advance: span.milliseconds, months: span.months == 0 ? nil : span.months))
        }
    }

    struct Freeze: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Stop the clock.")
        @OptionGroup var options: Options

        func run() async throws { try await options.change(.init(freeze: true)) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Start a stopped clock again.")
        @OptionGroup var options: Options

        func run() async throws { try await options.change(.init(freeze: false)) }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Return to this machine's clock.")
        @OptionGroup var options: Options

        func run() async throws { try await options.change(.init(reset: true)) }
    }
}

extension UInt64 {
    fileprivate var asMilliseconds: Int64 { Int64(clamping: self) }
}
