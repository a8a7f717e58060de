import Console
import Foundation
import Logging
import MerchantServer
import ServiceLifecycle
import UnixSignals

/// A merchant's server and an optional console in one process. Both start or neither does, and they stop together.
struct MerchantAndConsole: Sendable {
    let merchant: MerchantApplication
    /// The settings of the console; nil for none.
    let console: ConsoleSettings?
    let adminToken: String?
    let logger: Logger

    /// Serves until the task is cancelled or the process receives a stop signal.
    /// - Parameter onReady: called once both ports answer, with the base URLs of the merchant and of the console.
    /// - Throws: ``MerchantServerError`` or ``CommandError`` when a port is not available.
    func run(
        gracefulShutdownSignals: [UnixSignal], onReady: @escaping @Sendable (String, String?) async -> Void
    ) async throws {
        guard let console else {
            return try await merchant.run(gracefulShutdownSignals: gracefulShutdownSignals) { await onReady($0, nil) }
        }
        let backends = ConsoleBackends(control: nil, merchant: merchant.inProcess)
        let (addresses, answers) = AsyncStream.makeStream(of: String.self)
        // The group stops the services in reverse order: the console, which asks the merchant, before the merchant.
        let services: [any Service] = [
            MerchantAfterConsole(application: merchant, console: addresses) { merchant, console in
                backends.addresses.take(["merchant": merchant, "console": console])
                await onReady(merchant, console)
            },
            ConsoleService(
                application: ConsoleApplication(
                    console.configuration(beside: merchant.configuration, adminToken: adminToken), backends,
                    now: { Date() }, logger: logger
                ) { answers.yield($0) }, settings: console, host: merchant.configuration.host),
            merchant.stopAnnouncement,
        ]
        try await ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: gracefulShutdownSignals,
                logger: logger)
        ).run()
    }
}

/// Runs a merchant, once its console has an address, as a service of a group.
private struct MerchantAfterConsole: Service {
    let application: MerchantApplication
    let console: AsyncStream<String>
    let onReady: @Sendable (String, String) async -> Void

    func run() async throws {
        let address: String
        do { address = try await console.firstAddress() } catch {
            // The console did not start, so this task was cancelled.
            await application.close()
            throw error
        }
        try await application.run(gracefulShutdownSignals: []) { await onReady($0, address) }
    }
}
