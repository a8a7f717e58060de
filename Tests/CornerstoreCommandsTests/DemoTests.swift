import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct DemoTests {
    /// Runs `body` with places whose sample apps are all the same program.
    private func with(
        _ program: String, _ body: @Sendable (DemoPlaces) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let programs = directory.url.appendingPathComponent("programs")
            let data = directory.url.appendingPathComponent("my data")
            for folder in [programs, data] {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            }
            for sample in DemoSample.allCases {
                try FileManager.default.createSymbolicLink(
                    atPath: programs.appendingPathComponent(sample.rawValue).path, withDestinationPath: program)
            }
            try await body(DemoPlaces(data: data.path, programs: programs.path))
        }
    }

    @Test func `The demo suggests a receipt only when there is one`() async throws {
        try await with("/bin/true") { places in
            let demo = Demo(places: places, isOnce: false, json: false)
            let data = places.data.path
            let before = demo.commands(sandbox: "http://127.0.0.1:1")
            #expect(before.contains("export CORNERSTORE_DATA='\(data)'"))
            #expect(!before.contains { $0.contains("Receipt") })
            let receipt = places.path("device/apps/com.example.monkeys/sandboxReceipt")
            try FileManager.default.createDirectory(
                at: receipt.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("x".utf8).write(to: receipt)
            let after = demo.commands(sandbox: "http://127.0.0.1:1")
            #expect(after.contains("cornerstore receipt inspect '\(receipt.path)'"))
            let body = #"-d '{"receipt-data":"'$(base64 -w0 '\#(receipt.path)')'"}'"#
            #expect(after.last == "curl -s http://127.0.0.1:1/verifyReceipt " + body)
        }
    }

    @Test(arguments: [("/bin/true", true), ("/bin/false", false)])
    func `The demo says which apps ended, and reports those that fail`(
        program: String, isFine: Bool
    ) async throws {
        let screen =
            #"{"bundleId":"com.example.a","name":"A","address":"http://a","device":"/d","environment":"sandbox"}"#
        let screens = "[" + DemoSample.allCases.map { _ in screen }.joined(separator: ",") + "]"
        let server = try RawServer { connection, _ in
            _ = connection.read()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(screens.utf8.count)\r\n")
            connection.write("Connection: close\r\n\r\n" + screens)
        }
        defer { server.close() }
        let control = ControlClient(base: String(server.url.dropLast()), adminToken: nil)
        try await with(program) { places in
            let remarks = Mutex<[String]>([])
            let console = Console(
                write: { text, _ in remarks.withLock { $0.append(text) } }, isTerminal: false, showsProgress: false,
                style: Style(isColored: false), environment: [:])
            let demo = DemoScreens(places: places, control: control, console: console)
            var problem: CommandError?
            do { try await demo.run { _ in } } catch let error as CommandError { problem = error }
            let ended = DemoSample.allCases.map { "\($0.rawValue) ended, and is not started again.\n" }
            let said = remarks.withLock { $0.sorted() }
            #expect(said == (isFine ? ended.sorted() : []))
            #expect(isFine ? problem == nil : problem?.detail.contains("ended with exited(1)") == true)
        }
    }
}
