import StoreWire
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct ManagedLifeTests {
    private static let steps: [ManagedStep] = [
        .edit, .submit, .beginReview, .approve, .reject(reason: "x"), .remove, .restore, .delete,
    ]

    private typealias Row = (life: ManagedLife, state: ManagedState, results: [[ManagedState]?])

    private static func life(
        _ stage: ManagedStage, _ gap: ManagedGap? = nil, live: Bool = false, removed: Bool = false
    ) -> ManagedLife {
        ManagedLife(stage: stage, wasLive: live, isRemoved: removed, gap: gap)
    }

    /// Every step from every state: the states that it passes through, or nil where it is refused.
    private static let table: [Row] = [
        (life(.preparing, .metadata), .missingMetadata, [[], nil, nil, nil, nil, nil, nil, []]),
        (life(.preparing, .upload), .waitingForUpload, [[], nil, nil, nil, nil, nil, nil, []]),
        (life(.preparing, .processing), .processingContent, [[], nil, nil, nil, nil, nil, nil, []]),
        (life(.preparing), .readyToSubmit, [[], [.waitingForReview], nil, nil, nil, [.removed], nil, []]),
        (
            life(.waitingForReview), .waitingForReview,
            [nil, nil, [.inReview], [.inReview, .approved], [.inReview, .rejected], nil, nil, nil]
        ),
        (life(.inReview), .inReview, [nil, nil, nil, [.approved], [.rejected], nil, nil, nil]),
        (life(.approved, live: true), .approved, [[], nil, nil, nil, nil, [.removed], nil, []]),
        (life(.rejected), .rejected, [[], [.waitingForReview], nil, nil, nil, [.removed], nil, []]),
        (life(.approved, live: true, removed: true), .removed, [[], nil, nil, nil, nil, nil, [.approved], []]),
        (life(.preparing, removed: true), .removed, [[], nil, nil, nil, nil, nil, [.readyToSubmit], []]),
        (
            life(.preparing, .metadata, live: true), .missingMetadata,
            [[], nil, nil, nil, nil, [.removed], nil, []]
        ),
    ]

    @Test func eachStepHasItsResultOrIsRefused() throws {
        #expect(Set(Self.table.map(\.state)) == Set(ManagedState.allCases))
        for row in Self.table {
            #expect(row.life.state == row.state)
            for (step, expected) in zip(Self.steps, row.results) {
                var life = row.life
                if let expected {
                    let states = try life.take(step, review: .manual)
                    #expect(states == expected, "\(row.state), \(step)")
                    if let last = expected.last { #expect(life.state == last, "\(row.state), \(step)") }
                } else {
                    let error = #expect(throws: StoreError.self, "\(row.state), \(step)") {
                        try life.take(step, review: .automatic)
                    }
                    #expect(error?.code == .wrongState && life == row.life)
                }
            }
        }
    }

    @Test func anAutomaticRuleApprovesAtOnce() throws {
        var life = Self.life(.preparing)
        #expect(try life.take(.submit, review: .automatic) == [.waitingForReview, .inReview, .approved])
        #expect(life.wasLive && life.state == .approved)
    }

    @Test func changedTextsArePreparedAgain() throws {
        for stage in [ManagedStage.approved, .rejected] {
            var life = Self.life(stage, live: stage == .approved)
            _ = try life.take(.edit, review: .automatic)
            #expect(life.state == .readyToSubmit && life.wasLive == (stage == .approved))
        }
    }

    @Test func theSandboxSellsFromReadyToSubmitOn() {
        for row in Self.table where !row.life.isRemoved && !row.life.wasLive {
            let waits: Set<ManagedState> = [.missingMetadata, .waitingForUpload, .processingContent]
            #expect(row.life.isTestable == !waits.contains(row.state), "\(row.state)")
        }
    }
}
