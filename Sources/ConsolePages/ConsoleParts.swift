import CornerstoreEncoding
import Crypto
public import Mustache

/// The meaning of a colour. A word or a sign always says the same.
public enum ConsoleTone: String, Sendable, CaseIterable {
    /// Everything is in order.
    case good
    /// Somebody should act.
    case warn
    /// Something failed or ended.
    case bad
    /// Less important.
    case dim
}

/// A link of the console.
public struct ConsoleLink: PagePart {
    /// The words.
    public var name: String
    /// The address.
    public var link: String
    /// Whether the reader is there.
    public var isCurrent: Bool
    /// The letter that leads there after `g`.
    public var key: String?

    /// Creates a link.
    public init(_ name: String, _ link: String, isCurrent: Bool = false, key: String? = nil) {
        (self.name, self.link, self.isCurrent, self.key) = (name, link, isCurrent, key)
    }
}

/// A value among those that a field offers.
public struct ConsoleOption: PagePart {
    /// The value that is sent.
    public var value: String
    /// The words.
    public var label: String
    /// Whether it is chosen.
    public var isChosen: Bool

    /// Creates a value.
    public init(_ value: String, _ label: String, isChosen: Bool = false) {
        (self.value, self.label, self.isChosen) = (value, label, isChosen)
    }
}

/// A name with a value, such as a field of a transaction.
public struct ConsoleFact: PagePart {
    /// The name.
    public var name: String
    /// The value.
    public var value: String
    /// The address that the value leads to.
    public var link: String?
    /// The meaning of the value.
    public var note: String?
    /// The meaning of its colour.
    public var tone: String?
    /// Whether the value is an identifier that can be copied.
    public var isID: Bool

    /// Creates a fact.
    public init(
        _ name: String, _ value: String, link: String? = nil, note: String? = nil, tone: ConsoleTone? = nil,
        isID: Bool = false
    ) {
        (self.name, self.value, self.link, self.note, self.isID) = (name, value, link, note, isID)
        self.tone = tone?.rawValue
    }
}

/// A number that is seen at once.
public struct ConsoleNumber: PagePart {
    /// The name of the counted things.
    public var name: String
    /// The number.
    public var value: String
    /// The page with the counted things.
    public var link: String?
    /// More about the number.
    public var note: String?
    /// The meaning of its colour.
    public var tone: String?

    /// Creates a number.
    public init(_ name: String, _ value: String, link: String? = nil, note: String? = nil, tone: ConsoleTone? = nil) {
        (self.name, self.value, self.link, self.note) = (name, value, link, note)
        self.tone = tone?.rawValue
    }
}

/// A step of a checklist.
public struct ConsoleStep: PagePart {
    /// The step in words.
    public var text: String
    /// Whether it is done.
    public var isDone: Bool
    /// The address of the page that does it.
    public var link: String?
    /// The command that does it.
    public var command: String?

    /// Creates a step.
    public init(_ text: String, isDone: Bool, link: String? = nil, command: String? = nil) {
        (self.text, self.isDone, self.link, self.command) = (text, isDone, link, command)
    }
}

/// Something that happened. One with steps is a group that opens.
public struct ConsoleEvent: PagePart {
    /// The instant as machines read it; nil for a gap.
    public var time: String?
    /// The instant as people read it.
    public var timeText: String
    /// How far the instant is from now.
    public var ago: String?
    /// A description of the event.
    public var what: String
    /// The meaning of its colour.
    public var tone: String?
    /// The subject of the event, such as a product.
    public var detail: String?
    /// The address that the detail leads to. A group has none: its steps have.
    public var link: String?
    /// Less important words.
    public var note: String?
    /// Whether nothing happened for a while.
    public var isGap = false
    /// The steps of a group, the first one first.
    public var steps: [ConsoleEvent] = []

    /// Creates an event.
    public init(
        _ what: String, at time: String?, text: String = "", ago: String? = nil, detail: String? = nil,
        link: String? = nil, note: String? = nil, tone: ConsoleTone? = nil
    ) {
        (self.what, self.time, timeText, self.ago) = (what, time, text, ago)
        (self.detail, self.link, self.note) = (detail, link, note)
        self.tone = tone?.rawValue
    }
}

/// Lines that are copied elsewhere, such as a command.
public struct ConsoleCode: PagePart {
    /// A description of the lines.
    public var label: String
    /// The lines.
    public var code: String

    /// Creates lines.
    public init(_ label: String, _ code: String) { (self.label, self.code) = (label, code) }
}

/// A bar of a chart. The table with the same numbers is under the chart.
public struct ConsoleBar: PagePart {
    /// The distance from the left, in units of the picture.
    public var x: Int
    /// The distance from the top.
    public var y: Int
    /// The width.
    public var width: Int
    /// The height.
    public var height: Int
    /// The bar's value, in words.
    public var label: String

    /// Creates a bar.
    public init(x: Int, y: Int, width: Int, height: Int, label: String) {
        (self.x, self.y, self.width, self.height, self.label) = (x, y, width, height, label)
    }
}

// MARK: Tables

/// A column of a table.
public struct ConsoleColumn: PagePart {
    /// The heading.
    public var name: String
    /// Whether the column has numbers, which stand at its right.
    public var isNumber: Bool

    /// Creates a column.
    public init(_ name: String, isNumber: Bool = false) { (self.name, self.isNumber) = (name, isNumber) }
}

/// A cell of a table. It is not taken apart as other parts are, because a table has many. For the same reason its
/// template asks whether there is a link before it shows the link: within the text of a link, each name would be looked
/// for in the text first, by reflection.
public struct ConsoleCell: PagePart, MustacheParent {
    /// The text.
    public var text: String
    /// The address that the text leads to.
    public var link: String?
    /// Less important words after the text.
    public var note: String?
    /// The meaning of its colour.
    public var tone: String?
    /// The instant as machines read it, when the text is one.
    public var time: String?
    /// Whether the text is an identifier that can be copied.
    public var isID = false
    /// The buttons of the cell.
    public var buttons: [ConsoleButton] = []
    /// The column's heading, set by ``ConsoleTable/add(_:tone:)``.
    var label = ""
    var isHead = false
    var isNumber = false

    /// Creates a cell.
    public init(_ text: String, link: String? = nil, note: String? = nil, tone: ConsoleTone? = nil, isID: Bool = false)
    {
        (self.text, self.link, self.note, self.isID) = (text, link, note, isID)
        self.tone = tone?.rawValue
    }

    /// Creates a cell with buttons.
    public init(buttons: [ConsoleButton]) {
        text = ""
        self.buttons = buttons
    }

    /// The value of a field.
    public func child(named name: String) -> Any? {
        switch name {
        case "text": text
        case "link": link
        case "hasLink": link != nil
        case "note": note
        case "hasNote": note != nil
        case "tone": tone
        case "hasTone": tone != nil
        case "time": time
        case "hasTime": time != nil
        case "isID": isID
        case "buttons": buttons
        case "label": label
        case "isHead": isHead
        case "isNumber": isNumber
        case "isLong": isLong
        default: nil
        }
    }

    /// Whether the cell has a word that is longer than words of a language are, which may break anywhere.
    private var isLong: Bool {
        [text, note ?? ""].contains { $0.split(whereSeparator: { $0 == " " || $0 == "-" }).contains { $0.count > 16 } }
    }
}

/// A row of a table.
public struct ConsoleRow: PagePart {
    /// The cells.
    public var cells: [ConsoleCell]
    /// The meaning of its colour.
    public var tone: String?
}

/// A table. On a narrow screen each row becomes a card.
public struct ConsoleTable: PagePart {
    /// A description of the table.
    public var caption: String
    /// The columns.
    public var columns: [ConsoleColumn]
    /// The rows, at most 50 on a page.
    public internal(set) var rows: [ConsoleRow] = []
    /// The text of an empty table, such as how to add a row.
    public var nothing: String
    /// The command that makes the first row.
    public var command: String?
    /// The address of the first page, when this is another.
    public var first: String?
    /// The words of the link to the first page.
    public var firstLabel = "Newest"
    /// The address of the next page.
    public var next: String?
    /// The words of the link to the next page.
    public var nextLabel = "Older"

    /// Creates a table without rows.
    public init(_ caption: String, _ columns: [ConsoleColumn], nothing: String, command: String? = nil) {
        (self.caption, self.columns, self.nothing, self.command) = (caption, columns, nothing, command)
    }

    /// Adds a row. Its first cell is the row's heading.
    public mutating func add(_ cells: [ConsoleCell], tone: ConsoleTone? = nil) {
        var cells = cells
        for index in cells.indices where index < columns.count {
            cells[index].label = columns[index].name
            cells[index].isNumber = columns[index].isNumber
            cells[index].isHead = index == 0
        }
        rows.append(ConsoleRow(cells: cells, tone: tone?.rawValue))
    }
}

// MARK: Forms

/// A value that a form sends without showing it.
public struct ConsoleHidden: PagePart {
    /// The name.
    public var name: String
    /// The value.
    public var value: String

    /// Creates a value.
    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// A form of one button.
public struct ConsoleButton: PagePart {
    /// The words.
    public var label: String
    /// The button's effect in full, for people who do not see the row.
    public var about: String
    /// The address that the form is sent to.
    public var action: String
    /// The token of session and form, set when the page is made.
    public var token: String?
    /// Values that the form sends.
    public var hidden: [ConsoleHidden]
    /// The meaning of its colour.
    public var tone: String?

    /// Creates a button.
    public init(_ label: String, about: String, action: String, hidden: [ConsoleHidden] = [], tone: ConsoleTone? = nil)
    {
        (self.label, self.about, self.action, self.hidden) = (label, about, action, hidden)
        self.tone = tone?.rawValue
    }
}

/// A field of a form.
public struct ConsoleField: PagePart {
    /// The kinds of field.
    public enum Kind: String, Sendable, CaseIterable {
        /// One line of text.
        case text
        /// A password, which is never shown again.
        case password
        /// A whole number.
        case number
        /// An e-mail address.
        case email
        /// A search.
        case search
        /// Several lines.
        case area
        /// One of some values.
        case choice
        /// On or off.
        case tick
        /// A file, which is sent as bytes.
        case file
    }

    /// The name that is sent.
    public var name: String
    /// The label.
    public var label: String
    /// The value.
    public var value: String
    /// The values to choose from.
    public var options: [ConsoleOption]
    /// The expected input.
    public var hint: String?
    /// The problem with the value.
    public var problem: String?
    /// Whether the field must have a value.
    public var isRequired: Bool
    /// Whether the field is on.
    public var isOn: Bool
    /// The field's id in the page, set when the page is made.
    var id = ""
    let inputType: String
    let isInput: Bool
    let isArea: Bool
    let isChoice: Bool
    let isTick: Bool
    let isFile: Bool
    /// The kind.
    public let kind: Kind

    /// Creates a field.
    public init(
        _ name: String, _ label: String, _ kind: Kind = .text, value: String = "", options: [ConsoleOption] = [],
        hint: String? = nil, isRequired: Bool = false, isOn: Bool = false
    ) {
        (self.name, self.label, self.kind, self.value) = (name, label, kind, value)
        (self.options, self.hint, self.isRequired, self.isOn) = (options, hint, isRequired, isOn)
        inputType = kind.rawValue
        isArea = kind == .area
        isChoice = kind == .choice
        isTick = kind == .tick
        isFile = kind == .file
        isInput = !isArea && !isChoice && !isTick && !isFile
    }

    /// Takes the value that was typed before. A password and a file are not kept. A choice that the page does not offer
    /// is added, because browsers choose the first option of a list without a choice.
    mutating func take(_ typed: String?) {
        switch kind {
        case .password, .file: break
        case .tick: isOn = typed != nil
        case .choice:
            guard let typed else { break }
            for index in options.indices { options[index].isChosen = options[index].value == typed }
            if !options.contains(where: \.isChosen) { options.append(ConsoleOption(typed, typed, isChosen: true)) }
        default: value = typed ?? value
        }
    }
}

/// A form.
public struct ConsoleForm: PagePart {
    /// The heading; nil when the section's is enough.
    public var heading: String?
    /// The effect of the form.
    public var text: String?
    /// The address that the form is sent to.
    public var action: String
    /// `post`, or `get` for a form that changes nothing.
    public var method: String
    /// The token of session and form, set when the page is made.
    public var token: String?
    /// The fields.
    public var fields: [ConsoleField]
    /// Values that are not shown.
    public var hidden: [ConsoleHidden]
    /// The words of the button.
    public var button: String
    /// The button's effect, for people who do not see its surroundings; it begins with ``button``. Nil when the words
    /// are enough.
    public var buttonAbout: String?
    /// The meaning of the button's colour.
    public var tone: String?
    /// The problem with the form when it was sent.
    public var problem: String?
    /// The address that leaves the form.
    public var cancel: String?
    /// Whether the fields stand in one line, as filters do.
    public var isLine: Bool
    /// Whether a field is for a file, which a form sends in another encoding.
    let takesFile: Bool
    /// Whether the script sends the file piece by piece.
    let sendsPieces: Bool

    /// Creates a form.
    public init(
        _ heading: String? = nil, action: String, method: String = "post", fields: [ConsoleField] = [],
        hidden: [ConsoleHidden] = [], button: String, tone: ConsoleTone? = nil, text: String? = nil,
        cancel: String? = nil, isLine: Bool = false, sendsPieces: Bool = false
    ) {
        (self.heading, self.action, self.method, self.fields, self.hidden) = (heading, action, method, fields, hidden)
        (self.button, self.text, self.cancel, self.isLine) = (button, text, cancel, isLine)
        self.tone = tone?.rawValue
        takesFile = fields.contains { $0.kind == .file }
        self.sendsPieces = sendsPieces
    }

    /// The hidden values that say what the form is about. The others differ between two showings of the page: the `key`
    /// that makes a repeated form harmless, and the `revision` that was shown.
    var subject: [ConsoleHidden] { hidden.filter { $0.name != "key" && $0.name != "revision" } }

    /// Whether this form, and not another one of the same address, sent the values.
    func didSend(_ values: (String) -> String?) -> Bool { subject.allSatisfy { values($0.name) == $0.value } }

    /// Gives the fields their ids in the page. They stay when other forms come or go: the script puts what was typed
    /// back by them.
    /// - Parameter known: how often each id of a form occurred in the page. Forms that are alike are counted.
    mutating func giveIDs(in section: String, _ known: inout [String: Int]) {
        guard !fields.isEmpty else { return }
        let about = ([section, action] + subject.flatMap { [$0.name, $0.value] }).joined(separator: "\n")
        var id = "f" + Hexadecimal.encoded(SHA256.hash(data: Array(about.utf8)).prefix(4))
        let count = known[id, default: 0] + 1
        known[id] = count
        if count > 1 { id += "-\(count)" }
        for index in fields.indices { fields[index].id = "\(id)-\(fields[index].name)" }
    }
}
