import Foundation
import Testing

@testable import PurchaseVault

@Suite("The decision about a file and its mark", .timeLimit(.minutes(1)))
struct VaultRecoveryTests {
    private static let device = UUID(uuidString: "00000000-0000-4000-8000-000000000001") ?? UUID()

    private static func file(_ generation: Int, digest: UInt8, previous: UInt8 = 0)
        -> VaultRecovery.Found<VaultRecovery.File>
    {
        var contents = VaultContents(device: device)
        contents.generation = generation
        contents.previous = Data([previous])
        return .read(VaultRecovery.File(contents: contents, digest: Data([digest])))
    }

    private static func mark(_ generation: Int, digest: UInt8) -> VaultMark {
        VaultMark(generation: generation, digest: Data([digest]), counted: ["1"], balances: ["coins": 5])
    }

    private struct Case {
        var file: VaultRecovery.Found<VaultRecovery.File>
        var mark: VaultRecovery.Found<VaultMark>
        var incidents: [VaultIncident]
        var ceiling: VaultRecovery.Ceiling
        var last: Int
        var mustWrite: Bool
    }

    @Test func `each pair of a file and a mark has one result`() {
        let three = Self.mark(3, digest: 33)
        let cases = [
            Case(file: .absent, mark: .absent, incidents: [], ceiling: .none, last: 0, mustWrite: true),
            Case(file: .absent, mark: .read(VaultMark()), incidents: [], ceiling: .none, last: 0, mustWrite: false),
            Case(
                file: .absent, mark: .read(three), incidents: [.missing], ceiling: .mark(three), last: 3,
                mustWrite: true),
            Case(file: .absent, mark: .unreadable, incidents: [.unmarked], ceiling: .none, last: 0, mustWrite: true),
            Case(
                file: .unreadable, mark: .read(three), incidents: [.unreadable], ceiling: .mark(three), last: 3,
                mustWrite: true),
            Case(
                file: .unreadable, mark: .absent, incidents: [.unreadable, .unmarked], ceiling: .none, last: 0,
                mustWrite: true),
            Case(
                file: .unreadable, mark: .unreadable, incidents: [.unreadable, .unmarked], ceiling: .none, last: 0,
                mustWrite: true),
            Case(
                file: Self.file(3, digest: 33), mark: .absent, incidents: [.unmarked], ceiling: .nought, last: 3,
                mustWrite: true),
            Case(
                file: Self.file(3, digest: 33), mark: .unreadable, incidents: [.unmarked], ceiling: .nought, last: 3,
                mustWrite: true),
            Case(
                file: Self.file(3, digest: 33), mark: .read(three), incidents: [], ceiling: .none, last: 3,
                mustWrite: false),
            // The process ended between file and mark.
            Case(
                file: Self.file(4, digest: 44, previous: 33), mark: .read(three), incidents: [], ceiling: .none,
                last: 4,
                mustWrite: true),
            // The next number, and not after the marked file.
            Case(
                file: Self.file(4, digest: 44, previous: 32), mark: .read(three), incidents: [.markRolledBack],
                ceiling: .none, last: 4, mustWrite: true),
            Case(
                file: Self.file(5, digest: 55, previous: 44), mark: .read(three), incidents: [.markRolledBack],
                ceiling: .none, last: 5, mustWrite: true),
            Case(
                file: Self.file(2, digest: 22), mark: .read(three), incidents: [.rolledBack(generation: 2, last: 3)],
                ceiling: .mark(three), last: 3, mustWrite: true),
            // The same number, and another file.
            Case(
                file: Self.file(3, digest: 34), mark: .read(three), incidents: [.rolledBack(generation: 3, last: 3)],
                ceiling: .mark(three), last: 3, mustWrite: true),
        ]
        for (number, one) in cases.enumerated() {
            let found = VaultRecovery(file: one.file, mark: one.mark, device: Self.device)
            #expect(found.incidents == one.incidents, "case \(number)")
            #expect(found.ceiling == one.ceiling, "case \(number)")
            #expect(found.lastGeneration == one.last, "case \(number)")
            #expect(found.mustWrite == one.mustWrite, "case \(number)")
        }
    }
}
