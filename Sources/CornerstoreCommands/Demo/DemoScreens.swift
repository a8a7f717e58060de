import ControlWire
import Foundation
import StoreServer
import Subprocess
import SystemPackage

/// The sample apps on pages in a browser, each in a process of its own on one device.
struct DemoScreens: Sendable {
    let places: DemoPlaces
    let control: ControlClient
    let console: Console

    /// How long the apps may take to open their pages.
    private static let patience = Duration.seconds(30)

    /// Runs the apps until the task is cancelled. An app that crashes is started again, as a person would do.
    /// - Parameter onReady: called with the pages once all apps have one.
    /// - Throws: ``CommandError`` when an app cannot be started, ends by itself or opens no page.
    func run(onReady: @escaping @Sendable ([ControlAPI.Screen]) -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sample in DemoSample.allCases {
                group.addTask { try await keep(sample) }
            }
            group.addTask { onReady(try await pages()) }
            try await group.waitForAll()
        }
    }

    /// The pages of all apps, once they have them.
    private func pages() async throws -> [ControlAPI.Screen] {
        let clock = ContinuousClock()
        let end = clock.now + Self.patience
        while clock.now < end {
            let screens: [ControlAPI.Screen] = try await control.send(.screens)
            if screens.count >= DemoSample.allCases.count { return screens }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw CommandError(
            .failed, "Not every sample app opened its page within \(Self.patience.components.seconds) seconds.")
    }

    private func keep(_ sample: DemoSample) async throws {
        while !Task.isCancelled {
            let status = try await start(sample)
            if Task.isCancelled { return }
            // The status of a crash that somebody ordered on the page.
            guard case .exited(9) = status else {
                throw CommandError(.failed, "\(sample.rawValue) ended: \(status)")
            }
            console.remark("\(sample.rawValue) crashed, and is started again.")
        }
    }

    private func start(_ sample: DemoSample) async throws -> TerminationStatus {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(3))]
        let variables = [
            "PATH": Console.current.environment["PATH"] ?? "/usr/bin:/bin", "HOME": places.data.path,
            "LANG": "en_US.UTF-8", "CORNERSTORE_DATA": places.data.path,
            "CORNERSTORE_DEVICE": places.path("device").path,
            "CORNERSTORE_USER_TOKEN_FILE": places.path("reader-token").path,
        ]
        do {
            return try await Subprocess.run(
                .path(FilePath(places.program(sample).path)), arguments: ["--web"],
                environment: .custom(
                    Dictionary(
                        uniqueKeysWithValues: variables.map { (Environment.Key(stringLiteral: $0.key), $0.value) })),
                platformOptions: options, input: .none, output: .discarded, error: .discarded
            ).terminationStatus
        } catch let error as SubprocessError {
            throw CommandError(.failed, "Cannot run \(sample.rawValue): \(error)")
        }
    }
}
