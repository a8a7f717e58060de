import StoreWire

/// The state of a managed product. The raw values are App Store Connect's.
public enum ManagedState: String, Sendable, CaseIterable {
    /// The product lacks a price or a text.
    case missingMetadata = "MISSING_METADATA"
    /// Content is hosted, and no package was uploaded yet.
    case waitingForUpload = "WAITING_FOR_UPLOAD"
    /// The store is checking the first package.
    case processingContent = "PROCESSING_CONTENT"
    /// The product is complete. The sandbox sells it from here on.
    case readyToSubmit = "READY_TO_SUBMIT"
    /// The developer submitted the newest version; no reviewer has started.
    case waitingForReview = "WAITING_FOR_REVIEW"
    /// A reviewer is looking at the newest version.
    case inReview = "IN_REVIEW"
    /// The newest version is live: production sells it.
    case approved = "APPROVED"
    /// A reviewer rejected the newest version.
    case rejected = "REJECTED"
    /// The developer removed the product. Neither environment sells it.
    case removed = "DEVELOPER_REMOVED_FROM_SALE"

    /// The state's name for people, as App Store Connect shows it.
    public var name: String {
        switch self {
        case .missingMetadata: "Missing Metadata"
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
}

/// The stage of a version of a product's texts.
public enum ManagedStage: String, Sendable, CaseIterable {
    /// The developer is writing the texts.
    case preparing = "PREPARING"
    /// The developer submitted them.
    case waitingForReview = "WAITING_FOR_REVIEW"
    /// A reviewer is looking at them.
    case inReview = "IN_REVIEW"
    /// A reviewer approved them. Production shows those of the newest approved version.
    case approved = "APPROVED"
    /// A reviewer rejected them.
    case rejected = "REJECTED"
}

/// The rule for reviewing submitted products.
public enum ManagedReview: String, Sendable, CaseIterable {
    /// The store approves each product when it is submitted.
    case automatic
    /// The operator decides, with ``ManagedStep/approve`` and ``ManagedStep/reject(reason:)``.
    case manual
}

/// An action on a product.
public enum ManagedStep: Sendable, Equatable {
    /// The developer changes the texts.
    case edit
    /// The developer submits the newest version for review.
    case submit
    /// The reviewer begins the review.
    case beginReview
    /// The reviewer approves the newest version.
    case approve
    /// The reviewer rejects the newest version, with a reason for the developer.
    case reject(reason: String)
    /// The developer removes the product from sale.
    case remove
    /// The developer puts the product on sale again.
    case restore
    /// The developer deletes the product.
    case delete

    /// The step's name in the history.
    var name: String {
        switch self {
        case .edit: "change"
        case .submit: "submit"
        case .beginReview: "review"
        case .approve: "approve"
        case .reject: "reject"
        case .remove: "remove"
        case .restore: "restore"
        case .delete: "delete"
        }
    }
}

/// The reason why a product that is being prepared is not Ready to Submit.
public enum ManagedGap: Sendable, Equatable, CaseIterable {
    /// A price or a text is missing.
    case metadata
    /// The first package of hosted content is missing.
    case upload
    /// The first package of hosted content is being checked.
    case processing
}

/// The transitions between the states of a product. ``ManagedCatalog`` records them.
///
///     Missing Metadata → Waiting for Upload → Processing Content → Ready to Submit
///         → Waiting for Review → In Review → Approved | Rejected
///
/// A change of an approved version's texts begins a new version; a change of rejected texts prepares them again. From
/// Ready to Submit on, except during a review, the developer can remove the product from sale, and put it back.
struct ManagedLife: Sendable, Equatable {
    /// The newest version's stage.
    private(set) var stage: ManagedStage
    /// Whether any version was ever approved.
    private(set) var wasLive: Bool
    /// Whether the developer removed the product from sale.
    private(set) var isRemoved: Bool
    /// The part that the newest version lacks; nil when it is complete.
    var gap: ManagedGap?

    init(stage: ManagedStage, wasLive: Bool, isRemoved: Bool, gap: ManagedGap?) {
        self.stage = stage
        self.wasLive = wasLive
        self.isRemoved = isRemoved
        self.gap = gap
    }

    /// The product's state.
    var state: ManagedState { isRemoved ? .removed : unremovedState }

    private var unremovedState: ManagedState {
        switch (stage, gap) {
        case (.preparing, .metadata): .missingMetadata
        case (.preparing, .upload): .waitingForUpload
        case (.preparing, .processing): .processingContent
        case (.preparing, nil): .readyToSubmit
        case (.waitingForReview, _): .waitingForReview
        case (.inReview, _): .inReview
        case (.approved, _): .approved
        case (.rejected, _): .rejected
        }
    }

    /// Whether the newest version's texts can be sold in the sandbox.
    var isTestable: Bool { stage != .preparing || gap == nil }

    private var isReviewed: Bool { stage == .waitingForReview || stage == .inReview }

    /// Takes a step.
    /// - Returns: the states that the product passes through, the last of which is its new state. Empty when the step
    ///   changes no state.
    /// - Throws: ``StoreError`` `wrong_state` when the state does not allow the step. The state is then unchanged.
    mutating func take(_ step: ManagedStep, review: ManagedReview) throws -> [ManagedState] {
        var next = self
        guard let states = next.states(after: step, review) else {
            throw StoreError(.wrongState, "The product is \(state.name); \(Self.advice(step)).")
        }
        self = next
        return states
    }

    private mutating func states(after step: ManagedStep, _ review: ManagedReview) -> [ManagedState]? {
        switch step {
        case .edit:
            guard !isReviewed else { return nil }
            stage = .preparing
            return []
        case .submit:
            guard !isRemoved, gap == nil, stage == .preparing || stage == .rejected else { return nil }
            guard review == .automatic else { return enter(.waitingForReview) }
            return enter(.waitingForReview) + enter(.inReview) + enter(.approved)
        case .beginReview:
            guard stage == .waitingForReview else { return nil }
            return enter(.inReview)
        case .approve, .reject:
            guard isReviewed else { return nil }
            let begun = stage == .waitingForReview ? enter(.inReview) : []
            return begun + enter(step == .approve ? .approved : .rejected)
        case .remove:
            guard !isRemoved, !isReviewed, isTestable || wasLive else { return nil }
            isRemoved = true
            return [state]
        case .restore:
            guard isRemoved else { return nil }
            isRemoved = false
            return [state]
        case .delete: return isReviewed ? nil : []
        }
    }

    private mutating func enter(_ new: ManagedStage) -> [ManagedState] {
        stage = new
        if new == .approved { wasLive = true }
        return [unremovedState]
    }

    private static func advice(_ step: ManagedStep) -> String {
        switch step {
        case .edit: "its texts cannot change during a review"
        case .submit: "only a product that is Ready to Submit or Rejected can be submitted"
        case .beginReview: "only a product that is Waiting for Review can enter review"
        case .approve: "only a product that is Waiting for Review or In Review can be approved"
        case .reject: "only a product that is Waiting for Review or In Review can be rejected"
        case .remove: "only a product that is on sale somewhere, and not in review, can be removed from sale"
        case .restore: "only a product that was removed from sale can be put on sale again"
        case .delete: "it cannot be deleted during a review"
        }
    }
}
