import StoreWire
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct ContentStateMachineTests {
    /// Every step from every state: where it leads, or nowhere.
    @Test func eachReviewStepHasItsResultOrIsRefused() throws {
        let steps: [ContentStep] = [.submit, .beginReview, .approve, .reject(reason: "x"), .remove]
        let table: [ContentState: [[ContentState]?]] = [
            .waitingForUpload: [nil, nil, nil, nil, nil],
            .processingContent: [nil, nil, nil, nil, nil],
            .readyToSubmit: [[.waitingForReview], nil, nil, nil, [.removed]],
            .waitingForReview: [nil, [.inReview], [.inReview, .approved], [.inReview, .rejected], [.removed]],
            .inReview: [nil, nil, [.approved], [.rejected], [.removed]],
            .approved: [nil, nil, nil, nil, [.removed]],
            .rejected: [nil, nil, nil, nil, [.removed]],
            .removed: [nil, nil, nil, nil, nil],
        ]
        #expect(table.count == ContentState.allCases.count)
        for (state, row) in table {
            for (step, expected) in zip(steps, row) {
                var machine = ContentStateMachine(state: state)
                if let expected {
                    let states = try machine.take(step, review: .manual)
                    #expect(states == expected)
                    #expect(machine.state == expected.last)
                } else {
                    let error = #expect(throws: StoreError.self) { try machine.take(step, review: .automatic) }
                    #expect(error?.code == .wrongState && machine.state == state)
                }
            }
        }
    }

    @Test func anAutomaticRuleApprovesAtOnce() throws {
        var machine = ContentStateMachine(state: .readyToSubmit)
        let states = try machine.take(.submit, review: .automatic)
        #expect(states == [.waitingForReview, .inReview, .approved])
        #expect(machine.state == .approved)
    }

    @Test func theStatesHaveAppStoreConnectsNames() {
        #expect(
            ContentState.allCases.map(\.rawValue) == [
                "WAITING_FOR_UPLOAD", "PROCESSING_CONTENT", "READY_TO_SUBMIT", "WAITING_FOR_REVIEW", "IN_REVIEW",
                "APPROVED", "REJECTED", "DEVELOPER_REMOVED_FROM_SALE",
            ])
    }
}
