import ArgumentParser
import ControlWire
import Foundation

/// `cornerstore server`: what the operator sees of the server itself.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Show a running store's settings, requests, payment sheets and changes.",
        discussion: """
              cornerstore server settings
              cornerstore server requests --limit 20
              cornerstore server audit --json
            """,
        subcommands: [Settings.self, Requests.self, Sheets.self, Audit.self, Tester.self],
        defaultSubcommand: Settings.self)

    struct Options: ParsableArguments {
        @OptionGroup var control: ControlOptions
        @OptionGroup var output: OutputOptions
    }

    /// The options of a list that continues before a number.
    struct ListOptions: ParsableArguments {
        @Option(
            parsing: .unconditional,
            help: ArgumentHelp("List only entries before this one, for the next page.", valueName: "number"))
        var before: Int64?
        @Option(parsing: .unconditional, help: "The maximum number of entries, 1 to 1000.")
        var limit = 50

        func validate() throws { try checkLimit(limit, upTo: 1000) }
    }

    struct Settings: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show addresses, root certificates, database, processes, limits and rates.")
        @OptionGroup var options: Options

        func run() async throws {
            let settings: ControlAPI.Settings = try await options.control.client().send(.settings)
            try Console.current.report(settings, json: options.output.json) { style in
                var fields: [(String, String?)] = [("version", settings.version)]
                for (name, address) in settings.addresses.sorted(by: { $0.key < $1.key }) {
                    fields.append((name, address))
                }
                fields += [("database", settings.database), ("data", settings.dataDirectory)]
                for process in settings.processes ?? [] {
                    let silence = process.silence > 2 ? " for \(process.silence) s" : ""
                    fields.append(
                        (
                            "process \(process.node)",
                            "\(process.state)\(silence), \(process.name), since \(process.startedDate)"
                                + (process.isOwn ? ", this one" : process.address.map { ", \($0)" } ?? "")
                        ))
                }
                for root in settings.roots { fields.append(("root for \(root.name)", root.sha256)) }
                fields.append(("admin token", settings.needsAdminToken ? "needed" : "not needed"))
                for (name, limit) in settings.limits.sorted(by: { $0.key < $1.key }) {
                    fields.append((name, "\(limit)"))
                }
                for (name, rate) in (settings.rates ?? [:]).sorted(by: { $0.key < $1.key }) {
                    fields.append((name, "\(rate.perSecond) a second, \(rate.burst) at once"))
                }
                return Table.fields(fields, style)
            }
        }
    }

    struct Requests: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the last verifyReceipt and refused requests, newest first.")
        @OptionGroup var list: ListOptions
        @OptionGroup var options: Options

        func run() async throws {
            let requests: [ControlAPI.LoggedRequest] = try await options.control.client().send(
                .requests(before: list.before.map { Int(clamping: $0) }, limit: list.limit))
            try Console.current.report(requests, json: options.output.json) { style in
                guard !requests.isEmpty else { return "No verifyReceipt and no refused requests." }
                return Table(
                    heading: ["number", "date", "port", "request", "status", "receipt", "reason"],
                    rows: requests.map {
                        [
                            "\($0.number)", $0.date, $0.environment ?? "", "\($0.method) \($0.route)", "\($0.status)",
                            $0.receiptStatus.map(String.init) ?? "", $0.reason ?? "",
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Sheets: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the payment sheets that wait for an answer.")
        @OptionGroup var options: Options

        func run() async throws {
            let client = try options.control.client()
            let sheets: [ControlAPI.WaitingSheet] = try await client.send(.sheets)
            try Console.current.report(sheets, json: options.output.json) { style in
                guard !sheets.isEmpty else { return "No payment sheet waits." }
                return Table(
                    heading: ["kind", "title", "account", "waiting", "page"],
                    rows: sheets.map {
                        [$0.kind, $0.title, $0.account ?? "", "\($0.age) s", client.base + $0.path]
                    }
                ).text(style)
            }
        }
    }

    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the changes that operators made, newest first.")
        @Option(
            help: ArgumentHelp(
                "List only changes of this subject, such as an account's address.", valueName: "subject"))
        var subject: String?
        @OptionGroup var list: ListOptions
        @OptionGroup var options: Options

        func run() async throws {
            let entries: [ControlAPI.AuditEntry] = try await options.control.client().send(
                .audit(subject: subject, before: list.before, limit: list.limit))
            try Console.current.report(entries, json: options.output.json) { style in
                guard !entries.isEmpty else { return "No changes in the last seven days." }
                return Table(
                    heading: ["number", "date", "operator", "operation", "store", "subject", "before", "after"],
                    rows: entries.map {
                        [
                            "\($0.number)", $0.date, $0.operatorName ?? "", $0.operation, $0.environment ?? "",
                            $0.subject ?? "", $0.before ?? "", $0.after ?? "",
                        ]
                    }
                ).text(style)
            }
        }
    }

    struct Tester: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the address and password of the sandbox tester that the first start created.")
        @OptionGroup var options: Options

        func run() async throws {
            let tester: ControlAPI.TesterPassword = try await options.control.client().send(.revealTester)
            try Console.current.report(tester, json: options.output.json) { _ in
                "\(Style.printable(tester.email))  \(Style.printable(tester.password))"
            }
        }
    }
}
