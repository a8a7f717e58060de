/// A moment in the queue's work, by name: right before one of its actions is performed, or right after, which for a
/// question to the store or the customer is when the answer is here and nothing was made of it yet.
///
/// Tests of crashes kill the process at these (``StoreKitConfiguration/onStep``).
package struct PaymentQueueStep: Sendable, Hashable {
    /// On which side of the action.
    package enum Moment: String, Sendable, CaseIterable {
        case before, after
    }

    /// What the queue does; the names are those of its actions.
    package enum Action: String, Sendable, CaseIterable {
        /// Journals what must be durable before the next action.
        case saveGate = "save-gate"
        /// Journals anything else.
        case save
        case forget
        case update
        case introduce
        case remove
        case confirm
        case send
        case collect
        case finish
        case list
        case restore
        case concludeRestore = "conclude-restore"
        case restoreEnded = "restore-ended"
        case wait
    }

    package let moment: Moment
    package let action: Action

    package init(_ moment: Moment, _ action: Action) {
        self.moment = moment
        self.action = action
    }

    /// Such as `before-send`.
    package var name: String { "\(moment.rawValue)-\(action.rawValue)" }
}

extension PaymentQueueStep {
    init(_ moment: Moment, _ action: PaymentQueueStateMachine.Action) {
        let name: Action =
            switch action {
            case .save(_, let isGate): isGate ? .saveGate : .save
            case .forget: .forget
            case .update: .update
            case .introduce: .introduce
            case .remove: .remove
            case .confirm: .confirm
            case .send: .send
            case .collect: .collect
            case .finish: .finish
            case .list: .list
            case .restore: .restore
            case .concludeRestore: .concludeRestore
            case .restoreEnded: .restoreEnded
            case .wait: .wait
            }
        self.init(moment, name)
    }
}
