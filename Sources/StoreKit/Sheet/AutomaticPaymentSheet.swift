import Foundation

/// Answers every confirmation alike, for scripts and tests.
public struct AutomaticPaymentSheet: PaymentSheet {
    private let answer: PaymentSheetAnswer
    private let credentials: StoreCredentials?
    private let onNoSignIn: @Sendable (SignInPrompt) -> Void

    /// Signs in with `credentials`, once: when they are wrong, or there are none, it cancels.
    public init(answer: PaymentSheetAnswer, credentials: StoreCredentials?) {
        self.init(answer: answer, credentials: credentials, onNoSignIn: { _ in })
    }

    /// `onNoSignIn` is told before a sign-in is cancelled.
    init(
        answer: PaymentSheetAnswer, credentials: StoreCredentials?,
        onNoSignIn: @escaping @Sendable (SignInPrompt) -> Void
    ) {
        self.answer = answer
        self.credentials = credentials
        self.onNoSignIn = onNoSignIn
    }

    public func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer { answer }

    public func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? {
        if let credentials, !prompt.passwordWasWrong { return credentials }
        onNoSignIn(prompt)
        return nil
    }
}

/// Asks the program itself.
public struct ProgrammedPaymentSheet: PaymentSheet {
    private let onConfirm: @Sendable (PaymentSheetRequest) async -> PaymentSheetAnswer
    private let onSignIn: @Sendable (SignInPrompt) async -> StoreCredentials?
    /// What ``PaymentSheet/tell(_:)`` does.
    public var onTell: @Sendable (PaymentSheetNotice) async -> Void = { _ in }
    /// What ``PaymentSheet/redeemCode(_:)`` answers.
    public var onRedeemCode: @Sendable (RedemptionPrompt) async -> String? = { _ in nil }
    /// What ``PaymentSheet/confirmPriceIncrease(_:)`` answers.
    public var onPriceIncrease: @Sendable (PriceIncreaseRequest) async -> PriceIncreaseAnswer = { _ in .later }

    /// Calls these for the two questions of a purchase; the others can be set after.
    public init(
        confirm: @escaping @Sendable (PaymentSheetRequest) async -> PaymentSheetAnswer,
        signIn: @escaping @Sendable (SignInPrompt) async -> StoreCredentials?
    ) {
        onConfirm = confirm
        onSignIn = signIn
    }

    public func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer { await onConfirm(request) }

    public func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? { await onSignIn(prompt) }

    public func tell(_ notice: PaymentSheetNotice) async { await onTell(notice) }

    public func redeemCode(_ prompt: RedemptionPrompt) async -> String? { await onRedeemCode(prompt) }

    public func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer {
        await onPriceIncrease(request)
    }
}

extension PaymentSheet where Self == AutomaticPaymentSheet {
    /// Approves everything, signing in with `credentials`.
    public static func automatic(_ credentials: StoreCredentials) -> AutomaticPaymentSheet {
        AutomaticPaymentSheet(answer: .buy, credentials: credentials)
    }
}
