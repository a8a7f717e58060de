import ControlWire
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// The routes for ordered faults and payment rules.
extension ControlController {
    func addFaultRoutes(to router: Router<StoreRequestContext>) {
        on(router, .faults(.sandbox)) { store, _, _ in try .json(try await Self.faults(of: store)) }
        on(router, .orderFault(.sandbox), orderFault)
        on(router, .clearFaults(.sandbox)) { store, _, _ in
            try await store.faults.clear()
            return Response(status: .noContent)
        }
        on(router, .removeFault(.sandbox, operation: "")) { store, _, context in
            let operation = try Self.operation(context.parameter(.operation) ?? "")
            guard try await store.faults.remove(operation) else {
                throw HTTPProblem(.notFound, code: "not_found", message: "No fault of this operation is ordered.")
            }
            return Response(status: .noContent)
        }
        on(router, .faultHits(.sandbox)) { store, _, _ in
            try .json(
                try await store.faults.hits.map {
                    ControlAPI.FaultHit(
                        fault: ControlAPI.Fault($0.fault), date: ControlAPI.text($0.date), account: $0.account)
                })
        }
        router.on(.faultChoices) { _, _ in try .json(Faults.Operation.allCases.map(ControlAPI.FaultChoice.init)) }
        on(router, .paymentRules(.sandbox), listRules)
        on(router, .addPaymentRule(.sandbox), addRule)
        on(router, .clearPaymentRules(.sandbox)) { store, _, _ in
            try await store.payments.removeRules()
            return Response(status: .noContent)
        }
        on(router, .removePaymentRule(.sandbox, name: "")) { store, _, context in
            guard try await store.payments.removeRule(context.text(.name)) else {
                throw HTTPProblem(.notFound, code: "not_found", message: "There is no payment rule of this name.")
            }
            return Response(status: .noContent)
        }
    }

    private static func faults(of store: Store) async throws -> [ControlAPI.Fault] {
        let counts = try await store.faults.counts
        return try await store.faults.ordered.map { ControlAPI.Fault($0, hits: counts[$0.operation] ?? 0) }
    }

    private static func operation(_ name: String) throws -> Faults.Operation {
        guard let operation = Faults.Operation(rawValue: name) else {
            let known = Faults.Operation.allCases.map(\.rawValue).joined(separator: ", ")
            throw StoreError(.invalidRequest, "“operation” must be one of \(known).")
        }
        return operation
    }

    @Sendable private func orderFault(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        let order = try await request.decodeJSON(ControlAPI.Fault.self, upTo: Self.bodyLimit)
        let fault = try Self.fault(order, try Self.operation(order.operation))
        try await store.faults.order(fault)
        context.note?.say(subject: order.operation, after: ControlAPI.Fault(fault).words)
        return try .json(try await Self.faults(of: store), status: .created)
    }

    @Sendable private func listRules(
        _ store: Store, _ request: Request, _ context: StoreRequestContext
    ) async throws -> Response {
        var rules: [ControlAPI.PaymentRule] = []
        for rule in try await store.payments.declineRules {
            var email: String?
            if let accountID = rule.accountID { email = try await store.accounts.account(accountID)?.email }
            rules.append(
                ControlAPI.PaymentRule(
                    name: rule.ruleID, account: email, productId: rule.productID?.rawValue,
                    minimumAmount: rule.minimumAmount,
                    count: rule.remaining))
        }
        return try .json(rules)
    }

    @Sendable private func addRule(_ store: Store, _ request: Request, _ context: StoreRequestContext) async throws
        -> Response
    {
        let rule = try await request.decodeJSON(ControlAPI.PaymentRule.self, upTo: Self.bodyLimit)
        let account = try await existing(rule.account, at: store)
        try await store.payments.setRule(
            DeclineRule(
                ruleID: rule.name, accountID: account?.accountID, productID: rule.productId.map { ProductID($0) },
                minimumAmount: rule.minimumAmount, remaining: rule.count))
        context.note?.say(subject: rule.name)
        return Response(status: .created)
    }
}

extension ControlAPI.Fault {
    init(_ fault: Faults.Fault, hits: Int? = nil) {
        self.init(
            operation: fault.operation.rawValue,
            status: fault.error == nil && fault.cutAfter == nil && fault.wrongContent == nil ? fault.status : nil,
            error: fault.error?.name, cutAfter: fault.cutAfter, lie: fault.wrongContent?.rawValue,
            count: fault.remaining,
            hits: hits)
    }

    /// The fault in words, for the list of changes.
    fileprivate var words: String {
        let form =
            error ?? status.map { "status \($0)" } ?? cutAfter.map { "cut after \($0) bytes" }
            ?? lie.map { "wrong \($0)" } ?? "nothing"
        return "\(form), \(count) times"
    }
}

extension ControlAPI.FaultChoice {
    init(_ operation: Faults.Operation) {
        self.init(
            operation: operation.rawValue,
            statuses: operation.statuses.map {
                ControlAPI.StatusRange(from: $0.lowerBound, through: $0.upperBound)
            },
            errors: operation.takesErrors ? OrderedError.names : [], cut: operation.canBeCut,
            lies: operation.takesWrongContent ? Faults.WrongContent.allCases.map(\.rawValue) : [])
    }
}
