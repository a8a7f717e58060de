import Foundation
import Synchronization
import Testing

@testable import StoreKit

/// A restore of five thousand transactions, in an app that is a process of its own.
@Suite("Restoring five thousand transactions", .timeLimit(.minutes(1)))
struct RestoreMemoryTests {
    /// The app, beside the test bundle.
    private static let app: URL? = {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) }
        let app = (bundle ?? Bundle.main.executableURL)?.deletingLastPathComponent()
            .appendingPathComponent("kill-test-app")
        return app.flatMap { FileManager.default.isExecutableFile(atPath: $0.path) ? $0 : nil }
    }()

    /// The most memory that a process ever held, in KiB.
    private static func peak(of process: Int32) -> Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return nil }
        return line.split(separator: " ").compactMap { Int($0) }.first
    }

    @Test(.enabled(if: app != nil, "kill-test-app is not built"))
    func `five thousand are delivered and finished in less than 90 MiB`() async throws {
        let device = try TestDevice()
        try FileManager.default.createDirectory(at: device.folder, withIntermediateDirectories: true)
        device.store.own(5_000)
        device.store.change { $0.page = 200 }
        let password = device.folder.appendingPathComponent("password")
        try Data("bananas\n".utf8).write(to: password)
        let log = device.folder.appendingPathComponent("log")
        try await withServer(device.store) { url in
            let process = Process()
            process.executableURL = Self.app
            process.environment = [
                "CORNERSTORE_STORE": url.absoluteString, "CORNERSTORE_BUNDLE_ID": TestDevice.bundleID,
                "CORNERSTORE_DEVICE": device.folder.path, "CORNERSTORE_SHEET": "approve",
                "CORNERSTORE_ACCOUNT": "monkey@example.com", "CORNERSTORE_PASSWORD_FILE": password.path,
                "KILL_TEST_LOG": log.path, "KILL_TEST_RESTORES": "1", "KILL_TEST_TELLS": "1",
            ]
            let output = Pipe()
            process.standardOutput = output
            process.standardInput = FileHandle.nullDevice
            try process.run()
            try output.fileHandleForWriting.close()
            let identifier = process.processIdentifier
            let peak = await withTaskCancellationHandler {
                await Self.follow(output.fileHandleForReading, identifier)
            } onCancel: {
                // Its server goes with the test, and it would go on asking for ever.
                kill(identifier, SIGKILL)
            }
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            #expect(peak > 0 && peak < 90 << 10, "\(peak >> 10) MiB")
        }
        let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("regranted ") } == 5_000)
        #expect(lines.count { $0.hasPrefix("removed ") } == 5_000)
        #expect(lines.last == "ended")
        #expect(device.store.change { $0.unfinishedRestored.isEmpty })
    }

    /// Reads what the app says to its end, and looks at its memory now and then, the last time right before it ends.
    private static func follow(_ output: FileHandle, _ process: Int32) async -> Int {
        await withCheckedContinuation { continuation in
            Thread {
                var peak = 0
                var part = [UInt8](repeating: 0, count: 1 << 12)
                while true {
                    let count = read(output.fileDescriptor, &part, part.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { break }
                    peak = max(peak, Self.peak(of: process) ?? 0)
                }
                continuation.resume(returning: peak)
            }.start()
        }
    }
}
