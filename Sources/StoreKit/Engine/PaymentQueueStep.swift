/// A step of the queue's work: the moment right before or right after an action. A request to the store or the customer
/// ends when its response has arrived, before the queue handles it.
///
/// Crash tests kill the process at these steps (``StoreKitConfiguration/onStep``).
package struct PaymentQueueStep: Sendable, Hashable {
    /// The moment relative to the action.
    package enum Moment: String, Sendable, CaseIterable {
        case before, after
    }

    /// An action of the queue, by name.
    package enum Action: String, Sendable, CaseIterable {
        /// Journals entries that must be durable before the next action.
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

    /// The name of the step, such as `before-send`.
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
