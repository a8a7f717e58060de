import Foundation

/// A payment sheet on the terminal. It reads lines on its own thread. Without a terminal it writes a line to standard
/// error and cancels.
public struct TerminalPaymentSheet: PaymentSheet {
    private let credentials: StoreCredentials?

    /// Creates a sheet. It signs in with `credentials` first, and asks on the terminal when they are nil or wrong.
    public init(credentials: StoreCredentials?) {
        self.credentials = credentials
    }

    /// Shows the product and its price, and reads the answer. Cancels without a terminal.
    public func confirm(_ request: PaymentSheetRequest) async -> PaymentSheetAnswer {
        guard Self.hasTerminal else {
            Self.say(
                "No terminal to confirm the purchase on; set CORNERSTORE_SHEET=approve to buy without being asked.\n")
            return .cancel
        }
        Self.say(Self.text(of: request))
        let line = await Self.readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
        return ["b", "buy", "g", "get", "y", "yes"].contains(line ?? "") ? .buy : .cancel
    }

    /// Returns the given credentials if they fit, else asks for an account and reads the password without showing it.
    /// Returns nil for an empty answer and without a terminal.
    public func signIn(_ prompt: SignInPrompt) async -> StoreCredentials? {
        if let credentials, !prompt.passwordWasWrong, prompt.email == nil || prompt.email == credentials.email {
            return credentials
        }
        guard Self.hasTerminal else {
            Self.say("No terminal to sign in on; set CORNERSTORE_ACCOUNT and CORNERSTORE_PASSWORD_FILE.\n")
            return nil
        }
        Self.say(prompt.passwordWasWrong ? "\nThe password is not right. Try again.\n" : "\nSign in to the store.\n")
        var email = prompt.email ?? ""
        if prompt.email == nil {
            Self.say("E-mail (empty to cancel): ")
            email = await Self.readLine()?.trimmingCharacters(in: .whitespaces) ?? ""
        } else {
            Self.say("Account: \(Self.printable(email))\n")
        }
        guard !email.isEmpty else { return nil }
        guard let password = await Self.readHiddenLine("Password: "), !password.isEmpty else { return nil }
        return StoreCredentials(email: email, password: password)
    }

    /// Prints the notice, when standard input is a terminal.
    public func tell(_ notice: PaymentSheetNotice) async {
        if Self.hasTerminal { Self.say("\n  \(Self.printable(notice.text))\n") }
    }

    /// Asks for a code. Returns nil for an empty line and without a terminal.
    public func redeemCode(_ prompt: RedemptionPrompt) async -> String? {
        guard Self.hasTerminal else { return nil }
        Self.say((prompt.problem.map { "\n  \(Self.printable($0))" } ?? "") + "\nCode (empty to cancel): ")
        let line = await Self.readLine()?.trimmingCharacters(in: .whitespaces) ?? ""
        return line.isEmpty ? nil : line
    }

    /// Asks about the price increase. Without a terminal the answer is ``PriceIncreaseAnswer/later``.
    public func confirmPriceIncrease(_ request: PriceIncreaseRequest) async -> PriceIncreaseAnswer {
        guard Self.hasTerminal else { return .later }
        let name = Self.printable(request.productName)
        Self.say("\n  \(name) will cost \(request.formattedNewPrice) instead of \(request.formattedOldPrice).\n")
        Self.say("[a]gree, [d]ecline (it ends with its period) or [l]ater? ")
        return switch await Self.readLine()?.trimmingCharacters(in: .whitespaces).lowercased() {
        case "a", "agree": .accept
        case "d", "decline": .decline
        default: .later
        }
    }

    /// Shows the reasons with numbers. Returns nil for any other answer and without a terminal.
    public func chooseRefundReason(_ prompt: RefundPrompt) async -> RefundPrompt.Reason? {
        guard Self.hasTerminal else {
            Self.say("No terminal to request the refund on; set CORNERSTORE_SHEET=approve to request it unasked.\n")
            return nil
        }
        Self.say(Self.text(of: prompt))
        return Self.reason(await Self.readLine())
    }

    static func text(of prompt: RefundPrompt) -> String {
        var lines = [
            "", "  Refund of \(printable(prompt.productName)), \(prompt.formattedPrice)",
            "  Account: \(printable(prompt.account))",
        ]
        for (index, reason) in RefundPrompt.Reason.allCases.enumerated() {
            lines.append("  \(index + 1)  \(reason.words)")
        }
        return (lines + ["Why? The number of a reason, or [c]ancel: "]).joined(separator: "\n")
    }

    /// The reason that a typed number stands for; nil for any other answer.
    static func reason(_ line: String?) -> RefundPrompt.Reason? {
        let reasons = RefundPrompt.Reason.allCases
        guard let number = Int(line?.trimmingCharacters(in: .whitespaces) ?? ""), (1...reasons.count).contains(number)
        else { return nil }
        return reasons[number - 1]
    }

    static func text(of request: PaymentSheetRequest) -> String {
        var lines = ["", "  \(printable(request.productName))"]
        if request.isAlreadyOwned {
            lines.append("  You have bought this before: get it again for free.")
            lines.append("  Account: \(printable(request.account))")
            lines.append("[g]et or [c]ancel? ")
            return lines.joined(separator: "\n")
        }
        if request.quantity == 1 {
            lines.append("  \(request.formattedTotal)")
        } else {
            lines.append("  \(request.quantity) × \(request.formattedUnitPrice) = \(request.formattedTotal)")
        }
        lines.append("  Account: \(printable(request.account))")
        lines.append("[b]uy or [c]ancel? ")
        return lines.joined(separator: "\n")
    }

    /// The text without control characters, which could repaint the terminal and show another price. At most 200
    /// scalars.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { !CharacterSet.controlCharacters.contains($0) }.prefix(200)))
    }

    static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    static func say(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }

    static func readLine() async -> String? { await onThread { Swift.readLine() } }

    /// Asks for a line without echoing it.
    static func readHiddenLine(_ prompt: String) async -> String? {
        await onThread {
            var saved = termios()
            let isTerminal = tcgetattr(STDIN_FILENO, &saved) == 0
            if isTerminal {
                var silent = saved
                silent.c_lflag &= ~tcflag_t(ECHO)
                // Before the prompt: input typed as soon as the prompt appears is neither echoed nor discarded.
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
            }
            say(prompt)
            let line = Swift.readLine()
            if isTerminal {
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved)
                say("\n")
            }
            return line
        }
    }

    private static func onThread(_ read: @escaping @Sendable () -> String?) async -> String? {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: read()) }
            thread.name = "payment sheet"
            thread.start()
        }
    }
}
