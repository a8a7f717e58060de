/// A part of a console page with a heading.
public struct ConsoleSection: PagePart {
    /// The name by which links and the script find the section in the page.
    public var id: String
    /// The heading.
    public var heading: String
    /// A description of the section.
    public var text: String?
    /// A warning above the section's contents.
    public var warning: String?
    /// Numbers that are seen at once.
    public var numbers: [ConsoleNumber] = []
    /// A checklist.
    public var steps: [ConsoleStep] = []
    /// Names with values.
    public var facts: [ConsoleFact] = []
    /// The bars of a chart.
    public var bars: [ConsoleBar] = []
    /// The chart's numbers in words.
    public var barsLabel = ""
    /// The words under the bars, from left to right, such as the first and the last hour.
    public var axis: [String] = []
    /// Links to more.
    public var links: [ConsoleLink] = []
    /// A form that filters the table.
    public var filter: ConsoleForm?
    /// A table.
    public var table: ConsoleTable?
    /// The events, the last first.
    public var events: [ConsoleEvent] = []
    /// Forms.
    public var forms: [ConsoleForm] = []
    /// Lines to copy.
    public var codes: [ConsoleCode] = []
    /// Whether the lines to copy have commands. Other lines are data, such as a file, and stay as they are.
    public var codesHaveCommands = false
    /// Whether the script replaces the section when something changed.
    public var isLive: Bool

    /// Creates a section without content.
    public init(_ id: String, _ heading: String, text: String? = nil, isLive: Bool = false) {
        (self.id, self.heading, self.text, self.isLive) = (id, heading, text, isLive)
    }
}

/// The parts that all pages of the console have.
public struct ConsoleFrame: PagePart {
    /// The window's title.
    public var title = ""
    /// The path of the style sheet.
    public var stylesheet = ""
    /// The path of the script.
    public var script = ""
    /// The path of the script of forms that send a file piece by piece; nil on a page without one.
    public var uploadScript: String?
    /// The path of the icon.
    public var icon = ""
    /// The address of the first page.
    public var homeLink = "/"
    /// The environment's name; empty where there is none.
    public var environment = ""
    /// The environment as a class of the style sheet.
    public var environmentClass = "none"
    /// The effect of changes in this environment, for people.
    public var environmentNote = ""
    /// The environments to switch between.
    public var environments: [ConsoleLink] = []
    /// The pages.
    public var navigation: [ConsoleLink] = []
    /// The apps to filter by.
    public var apps: [ConsoleOption] = []
    /// The address of the page without a filter.
    public var filterAction = ""
    /// The filters of the page that the app's filter keeps.
    public var filterHidden: [ConsoleHidden] = []
    /// The store's time as people read it.
    public var clockText: String?
    /// The store's time as machines read it.
    public var clockTime = ""
    /// How the clock runs.
    public var clockNote = ""
    /// Whether the clock differs from the machine's.
    public var isClockMoved = false
    /// Whether the clock stands still.
    public var isClockFrozen = false
    /// The page of the clock.
    public var clockLink = ""
    /// The address that searches.
    public var findLink: String?
    /// The search term.
    public var term = ""
    /// The address of the stream of changes.
    public var events: String?
    /// The topics whose changes concern the page, with spaces between.
    public var topics = ""
    /// The form that signs out.
    public var signOut: ConsoleButton?

    /// Creates an empty frame.
    public init() {}
}

/// A page of the console.
public struct ConsolePage: Page {
    /// The template of console pages.
    public static let template = "console"

    /// The parts that all pages of the console have.
    public var frame: ConsoleFrame
    /// The heading.
    public var heading: String
    /// A description of the page.
    public var text: String?
    /// A sentence about the change that was just made.
    public var message: String?
    /// The failure, and how to recover.
    public var problem: String?
    /// The id by which the log names the request that failed.
    public var requestID: String?
    /// Links to the pages above this one.
    public var trail: [ConsoleLink] = []
    /// The sections.
    public var sections: [ConsoleSection] = []
    /// The address to which the browser leaves the page after 30 seconds, because it shows a secret.
    public var leave: String?
    /// The commands that do the same.
    public var commands: [ConsoleCode] = []

    /// Creates a page without sections.
    public init(_ heading: String, frame: ConsoleFrame = ConsoleFrame()) {
        (self.heading, self.frame) = (heading, frame)
    }

    /// Gives every form that changes something the token for its address, and every field its id.
    public mutating func finish(token: (String) -> String) {
        var known: [String: Int] = [:]
        func finish(_ form: inout ConsoleForm, in section: String) {
            if form.method == "post" { form.token = token(form.action) }
            form.giveIDs(in: section, &known)
        }
        for index in sections.indices {
            let id = sections[index].id
            for form in sections[index].forms.indices { finish(&sections[index].forms[form], in: id) }
            if var filter = sections[index].filter {
                finish(&filter, in: id)
                sections[index].filter = filter
            }
            sections[index].table?.giveTokens(token)
        }
        if let action = frame.signOut?.action { frame.signOut?.token = token(action) }
    }

    /// Puts words in front of each command of the page, such as the variable that names the data directory.
    public mutating func beginCommands(with words: String) {
        func begin(_ text: String) -> String {
            text.replacing(/(^|[\s(])(?=cornerstore [a-z]|CORNERSTORE_SHEET=)/) { "\($0.1)\(words) " }
        }
        func begin(_ codes: inout [ConsoleCode]) {
            for index in codes.indices { codes[index].code = begin(codes[index].code) }
        }
        begin(&commands)
        for index in sections.indices {
            if sections[index].codesHaveCommands { begin(&sections[index].codes) }
            if let command = sections[index].table?.command { sections[index].table?.command = begin(command) }
            for step in sections[index].steps.indices {
                if let command = sections[index].steps[step].command {
                    sections[index].steps[step].command = begin(command)
                }
            }
        }
    }

    /// Whether a form sends a file piece by piece.
    public var sendsPieces: Bool { sections.contains { $0.forms.contains(where: \.sendsPieces) } }

    /// Puts what was typed back into the form of an address, and says what was wrong. Of several forms with the
    /// address, it is the one whose other hidden values were sent. A hidden `revision` stays the one that was sent:
    /// whoever typed has not seen a later one.
    /// - Returns: whether the page has the form.
    @discardableResult
    public mutating func fill(action: String, problem: String, field: String?, typed: (String) -> String?) -> Bool {
        for index in sections.indices {
            for form in sections[index].forms.indices {
                guard sections[index].forms[form].action == action, sections[index].forms[form].didSend(typed) else {
                    continue
                }
                sections[index].forms[form].problem = problem
                for place in sections[index].forms[form].fields.indices {
                    let name = sections[index].forms[form].fields[place].name
                    sections[index].forms[form].fields[place].take(typed(name))
                    if name == field { sections[index].forms[form].fields[place].problem = problem }
                }
                for place in sections[index].forms[form].hidden.indices {
                    guard sections[index].forms[form].hidden[place].name == "revision" else { continue }
                    if let sent = typed("revision") { sections[index].forms[form].hidden[place].value = sent }
                }
                return true
            }
        }
        return false
    }

    /// The addresses of all forms that change something.
    public var actions: [String] {
        sections.flatMap { section in
            section.forms.filter { $0.method == "post" }.map(\.action) + (section.table?.actions ?? [])
        }
    }
}

extension ConsoleTable {
    /// Gives every button the token for its address.
    mutating func giveTokens(_ token: (String) -> String) {
        for row in rows.indices {
            for cell in rows[row].cells.indices where !rows[row].cells[cell].buttons.isEmpty {
                for button in rows[row].cells[cell].buttons.indices {
                    let action = rows[row].cells[cell].buttons[button].action
                    rows[row].cells[cell].buttons[button].token = token(action)
                }
            }
        }
    }

    /// The addresses of all buttons.
    var actions: [String] { rows.flatMap { $0.cells.flatMap { $0.buttons.map(\.action) } } }
}
