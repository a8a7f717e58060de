/// Where a version of hosted content stands, in App Store Connect's words.
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

    /// As people read it.
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

    /// The states of what the sandbox downloads: everything that was found in order. What a reviewer rejected stays, so that the developer
    /// sees what the reviewer saw.
    public var isTestable: Bool {
        switch self {
        case .readyToSubmit, .waitingForReview, .inReview, .approved, .rejected: true
        case .waitingForUpload, .processingContent, .removed: false
        }
    }

    /// Whether a version of the same number cannot be uploaded beside it.
    var holdsItsNumber: Bool { self != .rejected && self != .removed }
}

/// Who decides about what is submitted.
public enum ContentReview: String, Sendable, CaseIterable, Codable {
    /// Somebody, by ``ContentStep/approve`` and ``ContentStep/reject(reason:)``.
    case manual
    /// Everything that is submitted from now on is approved at once.
    case automatic
}

/// What is done to a version that is at the store.
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

/// The life of a version: which step leads where. It does nothing itself; ``ContentLibrary`` records what it says.
///
///     Waiting for Upload → Processing Content → Ready to Submit → Waiting for Review → In Review → Approved | Rejected
///
/// and from each of those that follow the processing to Developer Removed from Sale.
struct ContentStateMachine: Sendable, Equatable {
    private(set) var state: ContentState

    /// Takes a step.
    /// - Returns: the states that follow one another, the last of which holds; several, where a step passes others.
    /// - Throws: ``StoreError`` `wrong_state`, and the state is as before.
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

    /// What was found in order. The upload's own two states are its past.
    static let uploaded: [ContentState] = [.waitingForUpload, .processingContent, .readyToSubmit]

    private static func advice(_ step: ContentStep) -> String {
        switch step {
        case .submit: "only what is Ready to Submit can be submitted"
        case .beginReview: "a review begins with what is Waiting for Review"
        case .approve: "only what is Waiting for Review or In Review can be approved"
        case .reject: "only what is Waiting for Review or In Review can be rejected"
        case .remove: "it cannot be removed again"
        }
    }
}
