import Foundation
import PhotoFilters
import TestSupport
import Testing

/// A sample app as a program of its own, run as a person runs it.
struct SampleProgram: Sendable {
    let name: String
    let store: SampleStore
    let device: String
    /// Of the environment, beside those that every sample has.
    var variables: [String: String] = [:]

    static func isBuilt(_ name: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: url(name)?.path ?? "")
    }

    private static func url(_ name: String) -> URL? {
        Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent(name)
    }

    private func environment(isReachable: Bool) -> [String: String] {
        [
            "CORNERSTORE_STORE": isReachable ? store.addresses.sandbox : "http://127.0.0.1:1",
            "CORNERSTORE_ROOTS": store.folder.appendingPathComponent("data/roots/receipt-root.der").path,
            "CORNERSTORE_DEVICE": store.folder.appendingPathComponent(device).path,
        ].merging(variables) { $1 }
    }

    /// Starts it at a terminal, with nothing to answer for the person there.
    func atTerminal() throws -> PseudoTerminal {
        let executable: URL = try #require(Self.url(name))
        return try PseudoTerminal(executable, environment(isReachable: true))
    }

    struct Result: Sendable {
        var status: Int32
        var output: String
        var errors: String
    }

    func run(_ arguments: String..., isReachable: Bool = true) async throws -> Result {
        try await run(arguments, isReachable: isReachable)
    }

    /// - Parameter sheet: how the payment sheet and the sign-in are answered.
    func run(
        _ arguments: [String], isReachable: Bool = true, sheet: String = "approve"
    ) async throws -> Result {
        let password = store.folder.appendingPathComponent("password")
        try Data("\(SampleStore.password)\n".utf8).write(to: password)
        let process = Process()
        let executable: URL = try #require(Self.url(name))
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment(isReachable: isReachable).merging([
            "CORNERSTORE_SHEET": sheet, "CORNERSTORE_ACCOUNT": "ape@example.com",
            "CORNERSTORE_PASSWORD_FILE": password.path,
        ]) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        let (endings, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = {
            end.yield($0.terminationStatus)
            end.finish()
        }
        ChildDescriptors.closeAll()
        try process.run()
        // What these print fits into a pipe. A test that is over does not wait for its program.
        var status: Int32 = -1
        for await ending in endings { status = ending }
        if Task.isCancelled, process.isRunning { kill(process.processIdentifier, SIGKILL) }
        func text(_ pipe: Pipe) throws -> String {
            String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }
        return Result(status: status, output: try text(output), errors: try text(errors))
    }
}

@Suite("The samples' commands", .timeLimit(.minutes(1)))
@MainActor
struct SampleProgramTests {
    @Test(.enabled(if: SampleProgram.isBuilt("monkey-credits"), "monkey-credits is not built"))
    func `a crash after delivery loses nothing, and grants once`() async throws {
        try await SampleStore.with { store in
            let monkeys = SampleProgram(name: "monkey-credits", store: store, device: "device")
            let bought = try await monkeys.run("--buy", "credits5", "--quantity", "2")
            #expect(bought.output == "10 credits bought.\nMonkey credits: 10\n" && bought.status == 0)
            let crashed = try await monkeys.run("--buy", "credits10", "--crash-after", "purchased")
            #expect(crashed.status == 9)
            #expect(try await monkeys.run("--balance").output == "10\n")
            #expect(try await store.finished() == [true, false])
            let second = try await monkeys.run("--exit-when-idle")
            #expect(second.status == 0 && second.output.contains("10 credits bought.\nMonkey credits: 20\n"))
            #expect(try await monkeys.run("--exit-when-idle").output == "Monkey credits: 20\n")
            #expect(try await store.finished() == [true, true])
            #expect(try await monkeys.run("--feed").output == "A monkey is fed.\nMonkey credits: 19\n")
            let down = try await monkeys.run("--buy", "credits5", isReachable: false)
            #expect(down.output == "Network down?\n" && down.status == 1 && down.errors.isEmpty)
        }
    }

    @Test(.enabled(if: SampleProgram.isBuilt("photo-filters"), "photo-filters is not built"))
    func `a filter is bought, and applied to a picture`() async throws {
        try await SampleStore.with { store in
            let photos = SampleProgram(name: "photo-filters", store: store, device: "device")
            let picture = store.folder.appendingPathComponent("picture.png")
            let refused = try await photos.run("--apply", "mono", "--out", picture.path)
            #expect(refused.status == 1 && refused.output.contains("not bought"))
            #expect(!FileManager.default.fileExists(atPath: picture.path))
            let bought = try await photos.run("--buy", "mono")
            #expect(bought.output == "The filter mono is yours.\n" && bought.status == 0)
            let again = try await photos.run("--buy", "mono")
            #expect(again.output == "The filter mono is yours already; nothing was bought.\n" && again.status == 0)
            #expect(try await photos.run("--list").output == "sepia  not bought\nmono  yours\n")
            #expect(try await photos.run("--apply", "mono", "--out", picture.path).status == 0)
            let mono = PhotoFilter.mono.apply(to: .sample())
            #expect(try Picture(png: Data(contentsOf: picture)) == mono)

            let own = store.folder.appendingPathComponent("own.png")
            let small = Picture(width: 2, height: 2, red: 9, green: 90, blue: 200)
            try small.png().write(to: own)
            #expect(try await photos.run("--apply", "mono", "--in", own.path, "--out", picture.path).status == 0)
            #expect(try Picture(png: Data(contentsOf: picture)) == PhotoFilter.mono.apply(to: small))
            try Data("no picture".utf8).write(to: own)
            let place = store.folder.appendingPathComponent("none/picture.png").path
            for arguments in [["--in", place, "--out", picture.path], ["--out", place]] {
                let lost = try await photos.run(["--apply", "mono"] + arguments)
                #expect(lost.status == 1 && lost.output.hasPrefix("\(place) cannot be "), "\(lost.output)")
                #expect(!lost.output.contains("Domain="))
            }
            let bad = try await photos.run("--apply", "mono", "--in", own.path, "--out", picture.path)
            #expect(bad.status == 1 && bad.output == "the file is not a PNG\n")

            let down = try await photos.run("--buy", "sepia", isReachable: false)
            #expect(down.output == "Network down?\n" && down.status == 1)
            #expect(try await photos.run("--what").status == 2)

            try await store.refundAll()
            let told = try await photos.run("--restore")
            #expect(
                told.status == 0 && told.output.contains("The filter mono was refunded, and is not yours any more."),
                "\(told)")
            #expect(try await photos.run("--list").output == "sepia  not bought\nmono  not bought\n")
        }
    }
}
