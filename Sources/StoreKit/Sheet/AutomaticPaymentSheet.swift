import Foundation

/// A payment sheet that gives the same answer to every confirmation, for scripts and tests.
public struct AutomaticPaymentSheet: PaymentSheet {
    private let answer: PaymentSheetAnswer
    private let credentials: StoreCredentials?
    private let onNoSignIn: @Sendable (SignInPrompt) -> Void

    /// Creates a sheet that answers `answer` and signs in with `credentials`. It cancels the sign-in when the password
    /// is wrong or `credentials` is nil.
    public init(answer: PaymentSheetAnswer, credentials: StoreCredentials?) {
        self.init(answer: answer, credentials: credentials, onNoSignIn: { _ in })
    }

    /// The sheet calls `onNoSignIn` before it cancels a sign-in.
    init(
        answer: PaymentSheetAnswer, credentials: StoreCredentials?,
        onNoSignIn: @escaping @Sendable (SignInPrompt) -> Void
    ) {
        self.answer = answer
        self.credentials = credentials
        self.onNoSignIn = onNoSignIn
    }

    /// Returns the answer given at creation.
    public func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer { answer }

    /// Gives ``RefundPrompt/Reason/other`` if the sheet approves payments, else cancels.
    public func chooseRefundReason(_ prompt: RefundPrompt) async -> RefundPrompt.Reason? {
        answer == .buy ? .other : nil
    }

    /// Returns the credentials; nil when there are none or the password was wrong.
    public func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? {
        if let credentials, !prompt.passwordWasWrong { return credentials }
        onNoSignIn(prompt)
        return nil
    }
}

/// A payment sheet that the program answers with closures.
public struct ProgrammedPaymentSheet: PaymentSheet {
    private let onConfirm: @Sendable (PaymentSheetRequest) async -> PaymentSheetAnswer
    private let onSignIn: @Sendable (SignInPrompt) async -> StoreCredentials?
    /// Handles ``PaymentSheet/tell(_:)``. The default does nothing.
    public var onTell: @Sendable (PaymentSheetNotice) async -> Void = { _ in }
    /// Answers ``PaymentSheet/redeemCode(_:)``. The default cancels.
    public var onRedeemCode: @Sendable (RedemptionPrompt) async -> String? = { _ in nil }
    /// Answers ``PaymentSheet/confirmPriceIncrease(_:)``. The default is ``PriceIncreaseAnswer/later``.
    public var onPriceIncrease: @Sendable (PriceIncreaseRequest) async -> PriceIncreaseAnswer = { _ in .later }
    /// Answers ``PaymentSheet/chooseRefundReason(_:)``. The default cancels.
    public var onRefundRequest: @Sendable (RefundPrompt) async -> RefundPrompt.Reason? = { _ in nil }

    /// Creates a sheet from the two closures that a purchase needs. Set the other closures afterwards.
    public init(
        confirm: @escaping @Sendable (PaymentSheetRequest) async -> PaymentSheetAnswer,
        signIn: @escaping @Sendable (SignInPrompt) async -> StoreCredentials?
    ) {
        onConfirm = confirm
        onSignIn = signIn
    }

    /// Calls the `confirm` closure.
    public func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer { await onConfirm(request) }

    /// Calls the `signIn` closure.
    public func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? { await onSignIn(prompt) }

    /// Calls ``onTell``.
    public func tell(_ notice: PaymentSheetNotice) async { await onTell(notice) }

    /// Calls ``onRedeemCode``.
    public func redeemCode(_ prompt: RedemptionPrompt) async -> String? { await onRedeemCode(prompt) }

    /// Calls ``onPriceIncrease``.
    public func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer {
        await onPriceIncrease(request)
    }

    /// Calls ``onRefundRequest``.
    public func chooseRefundReason(_ prompt: RefundPrompt) async -> RefundPrompt.Reason? {
        await onRefundRequest(prompt)
    }
}

extension PaymentSheet where Self == AutomaticPaymentSheet {
    /// A sheet that approves every purchase and signs in with `credentials`.
    public static func automatic(_ credentials: StoreCredentials) -> AutomaticPaymentSheet {
        AutomaticPaymentSheet(answer: .buy, credentials: credentials)
    }
}
