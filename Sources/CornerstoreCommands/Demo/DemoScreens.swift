import ControlWire
import Foundation
import NIOCore
import StoreServer
import Subprocess
import Synchronization
import SystemPackage

/// The sample apps on pages in a browser, each in a process of its own on one device.
struct DemoScreens: Sendable {
    let places: DemoPlaces
    let control: ControlClient
    let console: Console

    /// How long the apps may take to open their pages.
    private static let patience = Duration.seconds(30)

    /// Runs the apps until the task is cancelled. An app that crashes or is killed is started again at its address, as
    /// a person would do. One that was stopped stays stopped.
    /// - Parameter onReady: called with the pages once all apps have one.
    /// - Throws: ``CommandError`` when an app cannot be started, fails or opens no page.
    func run(onReady: @escaping @Sendable ([ControlAPI.Screen]) -> Void) async throws {
        let ports = Ports()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sample in DemoSample.allCases {
                group.addTask { try await keep(sample, ports) }
            }
            group.addTask {
                let screens = try await pages()
                ports.learn(screens)
                onReady(screens)
            }
            // Ends at the first failure, where `waitForAll` would wait for the other apps.
            for try await _ in group {}
        }
    }

    /// The pages of all apps, once they have them.
    private func pages() async throws -> [ControlAPI.Screen] {
        let clock = ContinuousClock()
        let end = clock.now + Self.patience
        while clock.now < end {
            // A store that is told to stop does not answer.
            let screens = try? await control.send(.screens, as: [ControlAPI.Screen].self)
            if let screens, screens.count >= DemoSample.allCases.count { return screens }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw CommandError(
            .failed, "Not every sample app opened its page within \(Self.patience.components.seconds) seconds.")
    }

    private func keep(_ sample: DemoSample, _ ports: Ports) async throws {
        while !Task.isCancelled {
            let log = places.path("\(sample.rawValue).log")
            let status = try await start(sample, port: ports[sample.bundleID], log: log)
            // Ctrl-C in a terminal stops the apps, too, and perhaps before the store. An app that dies at its start
            // would occupy the processors.
            try await Task.sleep(for: .milliseconds(500))
            switch status {
            case .exited(0):
                guard await storeAnswers() else { return }
                console.remark("\(sample.rawValue) ended, and is not started again.")
                return
            case .exited(9): console.remark("\(sample.rawValue) crashed as ordered, and is started again.")
            case .signaled: console.remark("\(sample.rawValue) was killed, and is started again.")
            case .exited:
                let text = (try? Data(contentsOf: log)).map { String(decoding: $0.suffix(4096), as: UTF8.self) } ?? ""
                let reason = text.split(separator: "\n").last.map { ": " + Style.printable(String($0)) } ?? ""
                throw CommandError(.failed, "\(sample.rawValue) ended with \(status)\(reason)")
            }
        }
    }

    /// Whether the store answers. One that was told to stop does not.
    private func storeAnswers() async -> Bool {
        let screens = try? await control.send(.screens, timeout: .seconds(5)) as [ControlAPI.Screen]
        return screens != nil
    }

    private func start(_ sample: DemoSample, port: Int?, log: URL) async throws -> TerminationStatus {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(3))]
        let variables = [
            "PATH": Console.current.environment["PATH"] ?? "/usr/bin:/bin", "HOME": places.data.path,
            "LANG": "en_US.UTF-8", "CORNERSTORE_DATA": places.data.path,
            "CORNERSTORE_DEVICE": places.path("device").path,
            "CORNERSTORE_USER_TOKEN_FILE": places.path("reader-token").path,
        ]
        do {
            // NIOCore has a FileDescriptor of its own.
            let errors = try SystemPackage.FileDescriptor.open(
                FilePath(log.path), .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
            return try await Subprocess.run(
                .path(FilePath(places.program(sample).path)),
                arguments: Arguments(["--web"] + (port.map { ["--port", "\($0)"] } ?? [])),
                environment: .custom(
                    Dictionary(
                        uniqueKeysWithValues: variables.map { (Environment.Key(stringLiteral: $0.key), $0.value) })),
                platformOptions: options, input: .none, output: .discarded,
                error: .fileDescriptor(errors, closeAfterSpawningProcess: true)
            ).terminationStatus
        } catch let error as SubprocessError {
            throw CommandError(.failed, "Cannot run \(sample.rawValue): \(error)")
        }
    }
}

/// The ports of the apps' pages, by bundle identifier.
private final class Ports: Sendable {
    private let ports = Mutex<[String: Int]>([:])

    subscript(bundleID: String) -> Int? { ports.withLock { $0[bundleID] } }

    func learn(_ screens: [ControlAPI.Screen]) {
        ports.withLock { ports in
            for screen in screens { ports[screen.bundleId] = URL(string: screen.address)?.port }
        }
    }
}
