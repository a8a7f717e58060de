import KillTesting
import StoreServer
import TestSupport
import Testing

@Suite("Backup and restore of a running store", .serialized, .timeLimit(.minutes(1)))
struct StoreBackupTests {
    @Test(arguments: Backend.available)
    func `a restored backup contains every purchase confirmed before it, also under load`(
        _ backend: Backend
    ) async throws {
        let totals = try await StoreBackupRun.run(backend, Programs.built(), hasKey: false)
        #expect(totals.wrong == [])
        #expect(totals.early >= 40 && totals.restored >= totals.early)
    }

    @Test(.enabled(if: Backend.available.contains(.postgresql) && S3Server.isTested))
    func `a store with a key is restored with the same key, and not with another`() async throws {
        let totals = try await StoreBackupRun.run(.postgresql, Programs.built(), hasKey: true)
        #expect(totals.wrong == [])
        #expect(totals.early >= 40 && totals.restored >= totals.early)
    }

    @Test(arguments: Backend.available, [true, false])
    func `a killed restore leaves the old or the new store, and can run again`(
        _ backend: Backend, isEarly: Bool
    ) async throws {
        let steps = StoreBackup.RestoreStep.allCases.map(\.rawValue)
        let chosen = isEarly ? steps.prefix(2) : steps.dropFirst(2)
        #expect(try await StoreBackupRun.runKilled(backend, Programs.built(), steps: steps, at: chosen) == [])
    }
}
