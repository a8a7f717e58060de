import ControlWire
import Foundation
import StoreServer
import StoreWire

extension MerchantCommand {
    /// Reads the clocks of the store beside which a merchant runs (`cornerstore serve`), so that a command judges the
    /// books by the same time as the server.
    /// - Parameter folder: the merchant's data directory.
    /// - Returns: the time of an environment's store, as it was read. Nil when no store with a merchant runs
    ///   on the folder around it, or when its control port does not answer.
    static func storeClock(beside folder: URL) async -> (@Sendable (StoreEnvironment) -> Int64)? {
        let folder = folder.standardizedFileURL
        guard folder.lastPathComponent == "merchant",
            let addresses = Addresses.read(from: folder.deletingLastPathComponent()), addresses.merchant != nil
        else { return nil }
        let token = Console.current.environment["CORNERSTORE_ADMIN_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        let client = ControlClient(base: addresses.control, adminToken: token)
        do {
            let production: ControlAPI.Clock = try await client.send(.clock(.production))
            let sandbox: ControlAPI.Clock = try await client.send(.clock(.sandbox))
            return { environment in
                environment == .sandbox ? sandbox.milliseconds : production.milliseconds
            }
        } catch {
            return nil
        }
    }
}
