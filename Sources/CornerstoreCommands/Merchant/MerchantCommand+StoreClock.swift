import ControlWire
import Foundation
import NIOCore
import StoreServer
import StoreWire

extension MerchantCommand {
    /// The longest time in which the clocks of the store beside a merchant are read.
    private static let clockTimeout = TimeAmount.seconds(5)

    /// Reads the clocks of the store beside which a merchant runs (`cornerstore serve`), so that a command judges the
    /// books by the same time as the server.
    /// - Parameter folder: the merchant's data directory.
    /// - Returns: the time of an environment's store, as it was read. Nil when no store with a merchant runs
    ///   on the folder around it.
    /// - Throws: ``CommandError`` when the store's control port does not answer within five seconds, or refuses.
    static func storeClock(beside folder: URL) async throws -> (@Sendable (StoreEnvironment) -> Int64)? {
        let folder = folder.standardizedFileURL
        guard folder.lastPathComponent == "merchant",
            let addresses = Addresses.read(from: folder.deletingLastPathComponent()), addresses.merchant != nil
        else { return nil }
        let token = Console.current.environment["CORNERSTORE_ADMIN_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        let client = ControlClient(base: addresses.control, adminToken: token)
        async let production: ControlAPI.Clock = client.send(.clock(.production), timeout: clockTimeout)
        async let sandbox: ControlAPI.Clock = client.send(.clock(.sandbox), timeout: clockTimeout)
        let times = (production: try await production.milliseconds, sandbox: try await sandbox.milliseconds)
        return { environment in environment == .sandbox ? times.sandbox : times.production }
    }
}
