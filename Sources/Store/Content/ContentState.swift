/// The state of a version of hosted content. The raw values are App Store Connect's.
public enum ContentState: String, Sendable, CaseIterable, Codable {
    /// The package's bytes have not all arrived.
    case waitingForUpload = "WAITING_FOR_UPLOAD"
    /// The store is checking the package.
    case processingContent = "PROCESSING_CONTENT"
    /// The package passed the checks. The developer can submit it for review.
    case readyToSubmit = "READY_TO_SUBMIT"
    /// The developer submitted the version; no reviewer has started.
    case waitingForReview = "WAITING_FOR_REVIEW"
    /// A reviewer is looking at the version.
    case inReview = "IN_REVIEW"
    /// The version is live: production devices can download it.
    case approved = "APPROVED"
    /// A reviewer rejected the version.
    case rejected = "REJECTED"
    /// The developer removed the version. The store deletes its bytes unless another version has the same.
    case removed = "DEVELOPER_REMOVED_FROM_SALE"

    /// The state's name for people, as App Store Connect shows it.
    public var name: String {
        switch self {
        case .waitingForUpload: "Waiting for Upload"
        case .processingContent: "Processing Content"
        case .readyToSubmit: "Ready to Submit"
        case .waitingForReview: "Waiting for Review"
        case .inReview: "In Review"
        case .approved: "Approved"
        case .rejected: "Rejected"
        case .removed: "Developer Removed from Sale"
        }
    }

    /// Whether sandbox devices can download a version in this state. Every version that passed the checks is testable,
    /// also a rejected one, so that the developer can see what the reviewer saw.
    public var isTestable: Bool {
        switch self {
        case .readyToSubmit, .waitingForReview, .inReview, .approved, .rejected: true
        case .waitingForUpload, .processingContent, .removed: false
        }
    }

    /// Whether a version in this state blocks uploads with the same version number.
    var holdsItsNumber: Bool { self != .rejected && self != .removed }
}

/// The rule for reviewing submitted versions.
public enum ContentReview: String, Sendable, CaseIterable, Codable {
    /// The operator decides, with ``ContentStep/approve`` and ``ContentStep/reject(reason:)``.
    case manual
    /// The store approves each version when it is submitted.
    case automatic
}

/// An action on a version.
public enum ContentStep: Sendable, Equatable {
    /// Submits the version for review.
    case submit
    /// Starts the review.
    case beginReview
    /// Approves the version.
    case approve
    /// Rejects the version, with a reason for the developer.
    case reject(reason: String)
    /// Removes the version.
    case remove
}

/// The transitions between the states of a version. ``ContentLibrary`` records them.
///
///     Waiting for Upload → Processing Content → Ready to Submit → Waiting for Review → In Review → Approved | Rejected
///
/// Each state after Processing Content can also change to Developer Removed from Sale.
struct ContentStateMachine: Sendable, Equatable {
    private(set) var state: ContentState

    /// Takes a step.
    /// - Returns: the states that the version passes through. The last one is its new state.
    /// - Throws: ``StoreError`` `wrong_state` when the state does not allow the step. The state is then unchanged.
    mutating func take(_ step: ContentStep, review: ContentReview) throws -> [ContentState] {
        let states: [ContentState]?
        switch (step, state) {
        case (.submit, .readyToSubmit):
            states = review == .automatic ? [.waitingForReview, .inReview, .approved] : [.waitingForReview]
        case (.beginReview, .waitingForReview): states = [.inReview]
        case (.approve, .waitingForReview): states = [.inReview, .approved]
        case (.approve, .inReview): states = [.approved]
        case (.reject, .waitingForReview): states = [.inReview, .rejected]
        case (.reject, .inReview): states = [.rejected]
        case (.remove, .readyToSubmit), (.remove, .waitingForReview), (.remove, .inReview), (.remove, .approved),
            (.remove, .rejected):
            states = [.removed]
        default: states = nil
        }
        guard let states, let last = states.last else {
            throw StoreError(.wrongState, "The version is \(state.name); \(Self.advice(step)).")
        }
        state = last
        return states
    }

    /// The states of a version that passed the checks, in order. The first two belong to its upload.
    static let uploaded: [ContentState] = [.waitingForUpload, .processingContent, .readyToSubmit]

    private static func advice(_ step: ContentStep) -> String {
        switch step {
        case .submit: "only a version that is Ready to Submit can be submitted"
        case .beginReview: "only a version that is Waiting for Review can enter review"
        case .approve: "only a version that is Waiting for Review or In Review can be approved"
        case .reject: "only a version that is Waiting for Review or In Review can be rejected"
        case .remove: "it cannot be removed again"
        }
    }
}
