import ArgumentParser
import ControlWire
import Store
import StoreWire

/// `cornerstore fault`: makes the next requests fail, to test clients.
struct FaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault",
        abstract: "Make the next requests fail, to test how a client handles it.",
        discussion: """
            Operations: \(Faults.Operation.allCases.map(\.rawValue).joined(separator: ", ")).

            A failure is a status: 21005, 21009 or 21100 to 21199 for verifyReceipt, HTTP 400 to 599 for download, 429 or 500 for \
            serverAPI (the App Store Server API), and HTTP 500 to 599 for the other operations. The operations products, purchases, \
            receipts and restores also accept an error that the device passes to the app: a case of SKError.Code, or \
            SSServerErrorDomain/0, /5002, /5020 or /-5000. The operation download (hosted content, served by the store itself) accepts \
            cut-after:BYTES. The operation content, which returns the content's address, accepts lying-digest and lying-length.

              cornerstore fault order verifyReceipt 21005 --count 3
              cornerstore fault order purchases 503
              cornerstore fault order purchases paymentNotAllowed --count 2
              cornerstore fault order products SSServerErrorDomain/5002
              cornerstore fault order download cut-after:1000000 --count 3
              cornerstore fault order content lying-digest
              cornerstore fault list
              cornerstore fault hits
              cornerstore fault remove purchases
              cornerstore fault clear
            """,
        subcommands: [List.self, Order.self, Remove.self, Hits.self, Choices.self, Clear.self],
        defaultSubcommand: List.self)

    struct Options: ParsableArguments {
        @OptionGroup var environment: EnvironmentOptions
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        static func words(_ fault: ControlAPI.Fault) -> String {
            fault.error ?? fault.status.map(String.init) ?? fault.cutAfter.map { Failure.cut + String($0) }
                ?? fault.lie.map { "lying-" + $0 } ?? ""
        }

        func report(_ faults: [ControlAPI.Fault]) throws {
            try Console.current.report(faults, json: output.json) { style in
                guard !faults.isEmpty else { return "No faults." }
                return Table(
                    heading: ["operation", "fails with", "requests left", "met"],
                    rows: faults.map { [$0.operation, Self.words($0), "\($0.count)", $0.hits.map(String.init) ?? ""] }
                ).text(style)
            }
        }
    }

    /// How a request fails: a status, an error's name, a cut download, or a wrong digest or length.
    struct Failure: ExpressibleByArgument {
        static let cut = "cut-after:"
        static let lies = Faults.WrongContent.allCases.map { "lying-" + $0.rawValue }

        var status: Int?
        var error: OrderedError?
        var cutAfter: Int64?
        var lie: String?

        init?(argument: String) {
            if argument.hasPrefix(Self.cut) {
                cutAfter = Int64(argument.dropFirst(Self.cut.count))
            } else if Self.lies.contains(argument) {
                lie = String(argument.dropFirst("lying-".count))
            } else {
                status = Int(argument)
                error = status == nil ? OrderedError(name: argument) : nil
            }
            if status == nil, error == nil, cutAfter == nil, lie == nil { return nil }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the faults.")
        @OptionGroup var options: Options

        func run() async throws {
            try options.report(try await options.control.client().send(.faults(options.environment.environment)))
        }
    }

    struct Order: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a fault. It replaces an earlier fault of the same operation.")
        @Argument(
            help: "The operation whose requests fail.", completion: .list(Faults.Operation.allCases.map(\.rawValue)))
        var operation: String
        @Argument(
            help: "The failure: a status, an error's name, or cut-after:BYTES, lying-digest or lying-length.",
            completion: .list(OrderedError.names + Failure.lies))
        var failure: Failure
        @Option(parsing: .unconditional, help: "The number of requests that fail, 1 to 1000000.")
        var count = 1
        @OptionGroup var options: Options

        func validate() throws {
            guard (1...1_000_000).contains(count) else {
                throw ValidationError("--count must be a number from 1 to 1000000.")
            }
            guard let operation = Faults.Operation(rawValue: operation) else {
                let known = Faults.Operation.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError(
                    "Unknown operation “\(Style.printable(self.operation))”. The operations are \(known).")
            }
            var fault = Faults.Fault(operation: operation, status: failure.status ?? 0, remaining: count)
            fault.error = failure.error
            fault.cutAfter = failure.cutAfter
            fault.wrongContent = failure.lie.flatMap(Faults.WrongContent.init(rawValue:))
            do { try fault.check() } catch let error as StoreError { throw ValidationError(error.detail) }
        }

        func run() async throws {
            let fault = ControlAPI.Fault(
                operation: operation, status: failure.status, error: failure.error?.name, cutAfter: failure.cutAfter,
                lie: failure.lie, count: count)
            try options.report(
                try await options.control.client().send(.orderFault(options.environment.environment), fault))
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove the fault of one operation.")
        @Argument(
            help: "The operation whose requests fail.", completion: .list(Faults.Operation.allCases.map(\.rawValue)))
        var operation: String
        @OptionGroup var options: Options

        func run() async throws {
            let (client, environment) = (try options.control.client(), options.environment.environment)
            try await client.perform(.removeFault(environment, operation: operation))
            try options.report(try await client.send(.faults(environment)))
        }
    }

    struct Hits: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the last 100 requests that met a fault, newest first.")
        @OptionGroup var options: Options

        func run() async throws {
            let hits: [ControlAPI.FaultHit] = try await options.control.client().send(
                .faultHits(options.environment.environment))
            try Console.current.report(hits, json: options.output.json) { style in
                guard !hits.isEmpty else { return "No request has met a fault." }
                return Table(
                    heading: ["date", "operation", "failed with", "requests left", "account"],
                    rows: hits.map {
                        [
                            $0.date, $0.fault.operation, Options.words($0.fault), "\($0.fault.count)",
                            $0.account ?? "",
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Choices: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the failures that each operation can take.")
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let choices: [ControlAPI.FaultChoice] = try await control.client().send(.faultChoices)
            try Console.current.report(choices, json: output.json) { style in
                Table(
                    heading: ["operation", "statuses", "errors", "others"],
                    rows: choices.map { choice in
                        [
                            choice.operation,
                            choice.statuses.map { $0.from == $0.through ? "\($0.from)" : "\($0.from) to \($0.through)" }
                                .joined(separator: ", "),
                            choice.errors.isEmpty ? "" : "by name",
                            ((choice.cut ? ["cut-after:BYTES"] : []) + choice.lies.map { "lying-" + $0 })
                                .joined(separator: ", "),
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove all faults.")
        @OptionGroup var options: Options

        func run() async throws {
            try await options.control.client().perform(.clearFaults(options.environment.environment))
            try options.report([])
        }
    }
}
