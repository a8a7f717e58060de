import CornerstoreHTTPClient
import Foundation
import StoreWire
import Synchronization

/// A payment sheet on a web page of the store's control port, for programs without a terminal. Anyone who opens the
/// page can answer, so use it only on the operator's own machine.
///
/// A question that follows another, such as the price after the sign-in, has an address of its own. The page of the
/// answered question leads there.
public struct WebPaymentSheet: PaymentSheet {
    /// The environment that the pages name. If it is nil, StoreKit sets ``StoreKitConfiguration/environment``.
    public var environment: StoreEnvironment?
    /// The bundle identifier of the app that the pages name. If it is nil, StoreKit sets
    /// ``StoreKitConfiguration/bundleIdentifier``.
    public var app: String?
    /// The address to which the browser returns after each answer, such as the app's own page; nil when the page of the
    /// sheet says that it was answered. It must be an `http` or `https` address of `127.0.0.1`, `localhost` or a name
    /// under `localhost`, with at most 1000 bytes; the control port refuses others.
    public var returnAddress: URL?
    private let last = LastSheet()
    private let control: String
    private let adminToken: String?
    private let show: @Sendable (URL) -> Void
    private let say: @Sendable (String) -> Void

    /// Creates a sheet.
    ///
    /// - Parameters:
    ///   - control: the control port's base URL.
    ///   - adminToken: the control port's admin token, if it requires one.
    ///   - show: receives the address of each page, to open or print it.
    public init(control: URL, adminToken: String? = nil, show: @escaping @Sendable (URL) -> Void) {
        self.init(control: control, adminToken: adminToken, say: { _ in }, show: show)
    }

    /// `say` receives the reason when a page cannot be shown. The app only sees a cancelled purchase.
    package init(
        control: URL, adminToken: String?, say: @escaping @Sendable (String) -> Void,
        show: @escaping @Sendable (URL) -> Void
    ) {
        var base = control.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        self.control = base
        self.adminToken = adminToken
        self.show = show
        self.say = say
    }

    /// Shows a page with the product and its price, and waits for the answer. Cancels when no answer arrives.
    public func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer {
        var lines = ["Account: \(request.account)"]
        if request.isAlreadyOwned {
            lines.insert("You have bought this before: get it again for free.", at: 0)
        } else if request.quantity == 1 {
            lines.insert(request.formattedTotal, at: 0)
        } else {
            lines.insert("\(request.quantity) × \(request.formattedUnitPrice) = \(request.formattedTotal)", at: 0)
        }
        let reply = await ask(SheetQuestion(kind: .confirm, title: request.productName, lines: lines))
        return reply?.choice == .accept ? .buy : .cancel
    }

    /// Shows a page that asks for an account. Returns nil when no complete answer arrives.
    public func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? {
        let lines = prompt.passwordWasWrong ? ["The password is not right. Try again."] : []
        var question = SheetQuestion(kind: .signIn, title: "Sign in to the store", lines: lines, email: prompt.email)
        question.enteredEmail = prompt.enteredEmail
        guard let reply = await ask(question), reply.choice == .accept, let email = prompt.email ?? reply.email,
            let password = reply.password, !email.isEmpty, !password.isEmpty
        else { return nil }
        return StoreCredentials(email: email, password: password)
    }

    /// Shows a page with the notice and returns without waiting for anyone to read it.
    public func tell(_ notice: PaymentSheetNotice) async {
        _ = await post(
            SheetQuestion(kind: .notice, title: "Store", lines: [notice.text]), within: .seconds(10), attempts: 1)
    }

    /// Shows a page that asks for a code. Returns nil when no code arrives.
    public func redeemCode(_ prompt: RedemptionPrompt) async -> String? {
        let lines = prompt.problem.map { [$0] } ?? []
        let reply = await ask(SheetQuestion(kind: .code, title: "Redeem a code", lines: lines))
        guard reply?.choice == .accept, let code = reply?.code, !code.isEmpty else { return nil }
        return code
    }

    /// Shows a page about the price increase. Without an answer the result is ``PriceIncreaseAnswer/later``.
    public func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer {
        let line = "It will cost \(request.formattedNewPrice) instead of \(request.formattedOldPrice)."
        let reply = await ask(SheetQuestion(kind: .priceIncrease, title: request.productName, lines: [line]))
        return switch reply?.choice {
        case .accept: .accept
        case .decline: .decline
        case .later, nil: .later
        }
    }

    /// Shows a page with the reasons. Returns nil when no answer arrives.
    public func chooseRefundReason(_ prompt: RefundPrompt) async -> RefundPrompt.Reason? {
        var question = SheetQuestion(
            kind: .refund, title: "Refund of \(prompt.productName)",
            lines: [prompt.formattedPrice, "Account: \(prompt.account)"])
        question.options = RefundPrompt.Reason.allCases.map {
            SheetQuestion.Option(value: $0.rawValue, label: $0.words)
        }
        let reply = await ask(question)
        guard reply?.choice == .accept else { return nil }
        return reply?.option.flatMap { RefundPrompt.Reason(rawValue: $0) }
    }

    /// Posts the question and waits for the answer; nil when no answer arrives or the control port fails. A lost
    /// response is requested again.
    private func ask(_ question: SheetQuestion) async -> SheetReply? {
        guard let sheet = await post(question, within: .seconds(10), attempts: Self.attempts) else { return nil }
        let clock = ContinuousClock()
        var failures = 0
        while !Task.isCancelled {
            let start = clock.now
            let answer = try? await send(.outcome(sheet.id, wait: 25), nil, within: .seconds(40))
            switch answer?.status {
            case 200?:
                if let body = answer?.body, let reply = try? JSONDecoder().decode(SheetReply.self, from: body) {
                    return reply
                }
                failures += 1
            case 204?: failures = 0
            case nil, (500...599)?: failures += 1
            default: return nil
            }
            guard failures < Self.attempts else { return nil }
            // The pause doubles after each failure. After an immediate "no answer yet", it limits polling to once a
            // second.
            let pause = failures > 0 ? Self.pause(after: failures) : max(.seconds(1) - (clock.now - start), .zero)
            try? await Task.sleep(for: pause)
        }
        return nil
    }

    /// The number of attempts in a row before giving up: about six seconds when nothing listens at the address.
    private static let attempts = 6

    private static func pause(after failures: Int) -> Duration { .milliseconds(100 << failures) }

    /// Posts the question and shows its page; nil when the control port does not accept it. When the response is lost,
    /// the question is posted again, and the first page is never shown.
    private func post(_ question: SheetQuestion, within time: Duration, attempts: Int) async -> SheetPosted? {
        var question = question.shortened
        question.environment = environment
        question.app = app
        question.returnAddress = returnAddress?.absoluteString
        question.previous = last.id
        guard let body = try? JSONEncoder().encode(question) else { return nil }
        var problem = "nothing answers at that address"
        for attempt in 1...attempts {
            if let posted = try? await send(.post, body, within: time) {
                if posted.status == 201, let sheet = try? JSONDecoder().decode(SheetPosted.self, from: posted.body),
                    let page = URL(string: control + sheet.path)
                {
                    last.id = sheet.id
                    show(page)
                    return sheet
                }
                problem = "it responds with status \(posted.status)"
                if posted.status == 401 { problem += "; set CORNERSTORE_ADMIN_TOKEN to its admin token" }
                if (400...499).contains(posted.status) { break }
            }
            guard attempt < attempts, !Task.isCancelled else { break }
            try? await Task.sleep(for: Self.pause(after: attempt))
        }
        say("cannot show a payment sheet on the control port \(control): \(problem)")
        return nil
    }

    private func send(
        _ route: SheetRoute, _ body: Data?, within time: Duration
    ) async throws -> (status: Int, body: Data) {
        var request = HTTPRequest(
            route.method.rawValue, control + route.path,
            limits: HTTPLimits(connect: .seconds(5), silence: time, whole: time))
        if let adminToken { request.add("Authorization", "Bearer \(adminToken)") }
        if let body {
            request.add("Content-Type", "application/json")
            request.body = body
        }
        let response = try await HTTPClient.shared.send(request)
        return (response.status, Data(try await response.collect(upTo: 1 << 16)))
    }
}

/// The id of the question that was shown last.
private final class LastSheet: Sendable {
    private let shown = Mutex<String?>(nil)

    var id: String? {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue } }
    }
}
