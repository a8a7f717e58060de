/// A question of a device's payment sheet that the control port shows on a web page.
public struct SheetQuestion: Codable, Sendable, Equatable {
    /// The answers that the page offers.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// The customer buys or cancels.
        case confirm
        /// The customer enters an e-mail address and a password.
        case signIn
        /// The customer only reads the page.
        case notice
        /// The customer enters a code.
        case code
        /// The customer agrees, declines or decides later.
        case priceIncrease
        /// The customer chooses a reason and requests a refund, or cancels.
        case refund
    }

    /// A value that the customer can choose.
    public struct Option: Codable, Sendable, Equatable {
        /// The value, which the reply has.
        public var value: String
        /// The words that the customer reads.
        public var label: String

        /// Creates a value.
        public init(value: String, label: String) { (self.value, self.label) = (value, label) }
    }

    /// The kind of question.
    public var kind: Kind
    /// The title of the page: the name of a product or of the store.
    public var title: String
    /// The lines of text that the customer reads. The first line of a purchase and of a refund is its price. The lines
    /// of a sign-in and of a code say what was wrong with the entry before.
    public var lines: [String]
    /// The values to choose from, for a refund its reasons; nil for other questions.
    public var options: [Option]?
    /// The e-mail address of the account that must sign in; nil when any account may.
    public var email: String?
    /// The e-mail address that the customer entered with a wrong password. The page offers it again.
    public var enteredEmail: String?
    /// The bundle identifier of the app that asks; nil when the program does not say. The page shows the app's name if
    /// the catalog has one.
    public var app: String?
    /// The environment of the purchase; nil when the program does not say.
    public var environment: StoreEnvironment?
    /// The id of the question that the same program asked before. The page of that one, once answered, leads here.
    public var previous: String?
    /// The address to which the browser returns after the answer, such as the program's own page. It can only be of
    /// this machine: `http` or `https`, and `127.0.0.1`, `localhost` or a name under `localhost`.
    public var returnAddress: String?

    /// Creates a sheet question.
    public init(kind: Kind, title: String, lines: [String], email: String? = nil) {
        self.kind = kind
        self.title = title
        self.lines = lines
        self.email = email
    }

    /// The question as the page shows it: a title and an app of at most 1000 bytes each, at most 20 lines of at most
    /// 2000 bytes, and at most 20 values to choose from, of at most 200 bytes. An ellipsis ends each text that was cut.
    public var shortened: SheetQuestion {
        var question = self
        question.title = Self.cut(title, 1000)
        question.app = app.map { Self.cut($0, 1000) }
        question.lines = lines.prefix(20).map { Self.cut($0, 2000) }
        question.options = options?.prefix(20).map {
            Option(value: Self.cut($0.value, 200), label: Self.cut($0.label, 200))
        }
        return question
    }

    private static func cut(_ text: String, _ limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        let ellipsis = "…"
        var kept = String.UnicodeScalarView()
        var count = ellipsis.utf8.count
        // The text is cut between scalars, because the length of a character has no bound.
        for scalar in text.unicodeScalars {
            count += scalar.utf8.count
            guard count <= limit else { break }
            kept.append(scalar)
        }
        return String(kept) + ellipsis
    }
}

/// The page that shows the question.
public struct SheetPosted: Codable, Sendable, Equatable {
    /// The question's identifier. It cannot be guessed, and anyone who knows it may answer.
    public var id: String
    /// The page's path on the control port.
    public var path: String

    /// Creates a posted question's address.
    public init(id: String, path: String) {
        self.id = id
        self.path = path
    }
}

/// The customer's answer on the page, as the device receives it. Its description leaves the password out.
public struct SheetReply: Codable, Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The button that the customer pressed.
    public enum Choice: String, Codable, Sendable {
        /// The customer agreed.
        case accept
        /// The customer declined.
        case decline
        /// The customer decides later.
        case later
    }

    /// The button that the customer pressed.
    public var choice: Choice
    /// The e-mail address that the customer entered.
    public var email: String?
    /// The password that the customer entered. Secret.
    public var password: String?
    /// The code that the customer entered.
    public var code: String?
    /// The value that the customer chose, one of ``SheetQuestion/options``.
    public var option: String?

    /// Creates a sheet reply.
    public init(
        choice: Choice, email: String? = nil, password: String? = nil, code: String? = nil, option: String? = nil
    ) {
        self.choice = choice
        self.email = email
        self.password = password
        self.code = code
        self.option = option
    }

    /// The choice alone, without the password.
    public var description: String { "SheetReply(\(choice))" }
    /// A mirror of the choice alone, so that dumping a reply does not show the password.
    public var customMirror: Mirror { Mirror(self, children: ["choice": choice]) }
}
