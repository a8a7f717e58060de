import Foundation
import Store

extension SandboxTester {
    private static let place = "tester"

    /// Returns the tester of a store whose processes share a database, so that they have one tester and not one each.
    /// The first process keeps its own there; its account has yet to be created, which another process may do as well.
    /// - Parameters:
    ///   - secrets: the secrets of a store with a key.
    ///   - new: a new tester.
    /// - Throws: ``StoreSecretsError``; ``DatabaseError``.
    static func kept(in secrets: StoreSecrets, orNew new: SandboxTester) async throws -> SandboxTester {
        let octets = try await secrets.value(place) { Array(try JSONEncoder().encode(new)) }
        guard let tester = try? JSONDecoder().decode(SandboxTester.self, from: Data(octets)) else {
            throw StoreSecretsError(
                .secretDamaged,
                "The secret “\(place)” is not a tester. It was written by another version of the program.")
        }
        return tester
    }
}
