import Foundation

/// Compares the project's speed with that of the raw operations under it. With the argument
/// ``BareServer/subcommand`` it is one of its own servers, with ``AppProcess/subcommand`` an app on a device, with
/// ``PackageProcess/subcommand`` a packer, with ``IndexProcess/subcommand`` a builder of an index, with
/// ``FeedProcess/subcommand`` a builder of feeds, with ``PostProcess/subcommand`` a client that posts.
@main
enum CornerstoreBench {
    static func main() async {
        do {
            let arguments = CommandLine.arguments.dropFirst()
            if arguments.first == BareServer.subcommand {
                let bytes = arguments.dropFirst().first.flatMap { Int($0) } ?? 0
                try await BareServer(answerBytes: bytes).run()
            } else if arguments.first == AppLoop.subcommand {
                try await AppLoop.run(Array(arguments.dropFirst()))
            } else if arguments.first == AppProcess.subcommand {
                try await AppProcess.run(Array(arguments.dropFirst()))
            } else if arguments.first == ContentClient.subcommand {
                try await ContentClient.run(Array(arguments.dropFirst()))
            } else if arguments.first == IndexProcess.subcommand {
                try IndexProcess.run(Array(arguments.dropFirst()))
            } else if arguments.first == PackageProcess.subcommand {
                try PackageProcess.run(Array(arguments.dropFirst()))
            } else if arguments.first == FeedProcess.subcommand {
                try FeedProcess.run(Array(arguments.dropFirst()))
            } else if arguments.first == PostProcess.subcommand {
                try await PostProcess.run(Array(arguments.dropFirst()))
            } else if arguments.contains("--help") {
                print(Setting.usage)
            } else {
                try await measure(try Setting(arguments: arguments))
            }
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    private static func measure(_ given: Setting) async throws {
        var setting = given
        #if DEBUG
        print("A debug build: its figures mean nothing. make bench measures a release build.")
        #endif
        print("cores: \(Processors.all.numbers.count), servers on \(cores(.forServers)), load from \(cores(.forLoad))")
        setting.rsa = try measureRSA(setting)

        var figures: [Figure] = []
        var hasFailed = false
        for section in Section.all where setting.only.map({ section.name.hasPrefix($0) }) ?? true {
            print(section.name)
            do { figures += try await section.run(setting) } catch {
                hasFailed = true
                complain("\(section.name): \(error)")
            }
        }
        print("")
        for figure in figures { print(figure.line) }
        if hasFailed { exit(1) }
    }

    /// The baseline of all receipt figures, on one core and on all.
    private static func measureRSA(_ setting: Setting) throws -> RSARates {
        let baseline = try RSABaseline()
        let one = try Rate.compared(
            seconds: setting.seconds / 3, rounds: setting.rounds, baseline.verify, baseline.sign)
        let count = Processors.all.numbers.count
        let rates = RSARates(
            verify: one.first, sign: one.second,
            verifyAllCores: Rate.perSecond(threads: count, seconds: setting.seconds, work: baseline.verify),
            signAllCores: Rate.perSecond(threads: count, seconds: setting.seconds, work: baseline.sign)
        )
        print("raw RSA-2048, one core and all")
        print(String(format: "  verify %9.0f /s  %9.0f /s", rates.verify, rates.verifyAllCores))
        print(String(format: "  sign   %9.0f /s  %9.0f /s", rates.sign, rates.signAllCores))
        return rates
    }

    private static func cores(_ processors: Processors?) -> String {
        (processors ?? .all).numbers.map(String.init).joined(separator: ",")
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data("cornerstore-bench: \(text)\n".utf8))
    }
}
