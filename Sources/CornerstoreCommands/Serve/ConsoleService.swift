import Console
import Foundation
import NIOCore
import ServiceLifecycle

/// Runs a console as a service of a group.
struct ConsoleService: Service {
    let application: ConsoleApplication
    let settings: ConsoleSettings
    let host: String

    func run() async throws {
        do {
            try await application.run()
        } catch let error as IOError {
            throw CommandError(
                .failed,
                "Port \(settings.port) cannot be opened on \(host): \(String(cString: strerror(error.errnoCode))). Is another server "
                    + "running? Choose another port with --console-port, or 0 for any free port. To start without a console, use "
                    + "--no-console.")
        }
    }
}
