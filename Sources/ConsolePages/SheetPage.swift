/// The parts that a payment sheet's page shares with others.
public struct SheetFrame: PagePart {
    /// The window's title.
    public var title: String
    /// The path of the style sheet.
    public var stylesheet: String

    /// Creates the frame of a page.
    public init(title: String, stylesheet: String) { (self.title, self.stylesheet) = (title, stylesheet) }
}

/// A field of a payment sheet.
public struct SheetField: PagePart {
    /// The name that is sent.
    public var name: String
    /// The label.
    public var label: String
    /// The input's type: `text`, `email` or `password`.
    public var type: String
    /// The kind of value that browsers may fill in, such as `current-password`.
    public var autocomplete: String
    /// The value. A password has none.
    public var value: String
    /// Whether the value is fixed.
    public var isFixed: Bool
    /// The values to choose from; none for a field in which the customer types.
    public var options: [ConsoleOption] = []
    /// The problem with the value.
    public var problem: String?

    /// Creates a field.
    public init(
        _ name: String, _ label: String, type: String, autocomplete: String, value: String = "", isFixed: Bool = false
    ) {
        (self.name, self.label, self.type, self.autocomplete) = (name, label, type, autocomplete)
        (self.value, self.isFixed) = (value, isFixed)
    }

    /// Creates a field with values to choose from.
    public init(_ name: String, _ label: String, options: [ConsoleOption]) {
        self.init(name, label, type: "text", autocomplete: "off")
        self.options = options
    }
}

/// A button of a payment sheet.
public struct SheetButton: PagePart {
    /// The value that is sent.
    public var value: String
    /// The words.
    public var label: String
    /// Whether the button needs no fields and is less prominent.
    public var isPlain: Bool

    /// Creates a button.
    public init(_ value: String, _ label: String, isPlain: Bool = false) {
        (self.value, self.label, self.isPlain) = (value, label, isPlain)
    }
}

/// The page of a payment sheet: a question with a form, or what became of it. It needs no script.
public struct SheetPage: Page {
    /// The template of payment sheets.
    public static let template = "sheet"

    /// The parts that the page shares with others.
    public var frame: SheetFrame
    /// The environment's name; nil when the program does not say.
    public var environment: String?
    /// The environment as a class of the style sheet.
    public var environmentClass = ""
    /// The meaning of the environment for the customer.
    public var environmentNote = ""
    /// The app that asks; nil when the program does not say.
    public var app: String?
    /// The heading.
    public var heading: String
    /// The price.
    public var price: String?
    /// The lines of text.
    public var lines: [String]
    /// The problem with the form, when it concerns no single field.
    public var problem: String?
    /// The address that the form is sent to.
    public var action = ""
    /// The fields.
    public var fields: [SheetField] = []
    /// The buttons; none when there is nothing to answer.
    public var buttons: [SheetButton] = []
    /// The address of the sheet itself, where the next question appears; nil when none is expected.
    public var again: String?
    /// The address of the program's page.
    public var back: String?

    /// Creates a page without a form.
    public init(_ heading: String, lines: [String], frame: SheetFrame) {
        (self.heading, self.lines, self.frame) = (heading, lines, frame)
    }
}
