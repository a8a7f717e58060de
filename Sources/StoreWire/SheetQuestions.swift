/// What a device's payment sheet asks on a web page of the control port: `POST /control/v1/sheets`.
public struct SheetQuestion: Codable, Sendable, Equatable {
    /// What the page offers.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// Buy or cancel.
        case confirm
        /// An e-mail address and a password.
        case signIn
        /// Only to be read.
        case notice
        /// A code.
        case code
        /// Agree, decline or later.
        case priceIncrease
    }

    public var kind: Kind
    /// A product's or the store's name.
    public var title: String
    /// What the customer reads, a line each.
    public var lines: [String]
    /// The account that must sign in, when it is a certain one.
    public var email: String?

    public init(kind: Kind, title: String, lines: [String], email: String? = nil) {
        self.kind = kind
        self.title = title
        self.lines = lines
        self.email = email
    }

    /// The question as it is shown: a title of at most 1000 bytes and 20 lines of at most 2000, what is cut ending in an ellipsis.
    public var shortened: SheetQuestion {
        SheetQuestion(
            kind: kind, title: Self.cut(title, 1000), lines: lines.prefix(20).map { Self.cut($0, 2000) }, email: email)
    }

    private static func cut(_ text: String, _ limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        let ellipsis = "…"
        var kept = String.UnicodeScalarView()
        var count = ellipsis.utf8.count
        // By scalars: one character can be of any length.
        for scalar in text.unicodeScalars {
            count += scalar.utf8.count
            guard count <= limit else { break }
            kept.append(scalar)
        }
        return String(kept) + ellipsis
    }
}

/// Where the question is shown.
public struct SheetPosted: Codable, Sendable, Equatable {
    /// Unguessable: who knows it may answer.
    public var id: String
    /// The page's path on the control port.
    public var path: String

    public init(id: String, path: String) {
        self.id = id
        self.path = path
    }
}

/// What the customer did on the page. Its description leaves the password out.
public struct SheetReply: Codable, Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    public enum Choice: String, Codable, Sendable {
        case accept
        case decline
        case later
    }

    public var choice: Choice
    public var email: String?
    public var password: String?
    public var code: String?

    public init(choice: Choice, email: String? = nil, password: String? = nil, code: String? = nil) {
        self.choice = choice
        self.email = email
        self.password = password
        self.code = code
    }

    public var description: String { "SheetReply(\(choice))" }
    public var customMirror: Mirror { Mirror(self, children: ["choice": choice]) }
}
