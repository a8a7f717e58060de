/// The parts that a device's screen shares with other pages.
public struct ScreenFrame: PagePart {
    /// The window's title.
    public var title = ""
    /// The path of the style sheet.
    public var stylesheet = ""
    /// The path of the script.
    public var script = ""
    /// The path of the icon.
    public var icon = ""
    /// The environment's name.
    public var environment = ""
    /// The environment as a class of the style sheet.
    public var environmentClass = "none"
    /// The address of the stream of changes.
    public var events: String?
    /// The topics whose changes concern the page.
    public var topics = ""

    /// Creates an empty frame.
    public init() {}
}

/// A picture on a device's screen.
public struct ScreenPicture: PagePart {
    /// The picture's address.
    public var address: String
    /// A description of the picture, for people who do not see it.
    public var about: String
    /// The words below the picture; nil for none.
    public var caption: String?

    /// Creates a picture.
    public init(_ address: String, about: String, caption: String? = nil) {
        (self.address, self.about, self.caption) = (address, about, caption)
    }
}

/// How far something has come.
public struct ScreenProgress: PagePart {
    /// The name of the measured quantity, for people who do not see the bar.
    public var label: String
    /// From 0 to 100.
    public var percent: Int
    /// The state in words.
    public var text: String

    /// Creates a bar.
    public init(_ label: String, percent: Int, text: String) {
        (self.label, self.percent, self.text) = (label, percent, text)
    }
}

/// Something that the app on a device's screen lists.
public struct ScreenItem: PagePart {
    /// The name.
    public var name: String
    /// The app's text about it, such as its state.
    public var text: String?
    /// Its identifier, for the people who make the app; nil for none.
    public var identifier: String?
    /// The price, or why there is none.
    public var price: String?
    /// Its picture.
    public var picture: ScreenPicture?
    /// Its progress.
    public var progress: ScreenProgress?
    /// The forms with fields. Each is a button with fields before it.
    public var forms: [ConsoleForm] = []
    /// The buttons.
    public var buttons: [ConsoleButton] = []

    /// Creates an item.
    public init(_ name: String, text: String? = nil, price: String? = nil) {
        (self.name, self.text, self.price) = (name, text, price)
    }
}

/// The contents of an app's page on a device's screen.
public struct ScreenContent: PagePart {
    /// The main fact, such as a balance; nil for none.
    public var headline: String?
    /// An explanation; nil for none.
    public var text: String?
    /// The pictures.
    public var pictures: [ScreenPicture] = []
    /// The list.
    public var items: [ScreenItem] = []
    /// Forms for the whole app, such as a search.
    public var forms: [ConsoleForm] = []
    /// Buttons for the whole app.
    public var buttons: [ConsoleButton] = []
    /// The heading of ``reading``.
    public var readingHeading: String?
    /// The text to read, such as a chapter.
    public var reading: String?

    /// Creates empty contents.
    public init(headline: String? = nil, text: String? = nil) { (self.headline, self.text) = (headline, text) }

    /// Shows a text file, whose paragraphs are apart by an empty line. The page breaks the lines of a paragraph.
    public mutating func read(_ text: String, heading: String) {
        readingHeading = heading
        reading = text.split(separator: "\n\n").map { $0.split(separator: "\n").joined(separator: " ") }
            .joined(separator: "\n\n")
    }
}

/// The page that shows a device's screen: what its app shows, and what happened on the device.
public struct ScreenPage: Page {
    /// The template of screens.
    public static let template = "screen"

    /// The parts that the page shares with others.
    public var frame: ScreenFrame
    /// The app's name.
    public var heading: String
    /// A description of the page, in a sentence.
    public var about = ""
    /// The device's name for the person who uses it, such as `on phone`; nil for none.
    public var on: String?
    /// The device's folder.
    public var device = ""
    /// Why the screen cannot do all that it should; nil when it can.
    public var problem: String?
    /// The app's last messages.
    public var said: [String] = []
    /// The mood of ``said``: `good`, `neutral` or `bad`.
    public var saidTone = "good"
    /// The address of a page of the store that waits for the customer; nil when none does.
    public var waiting: String?
    /// Whether ``waiting`` is an item's page, and not a question.
    public var isWaitingItem = false
    /// A question of the system to the customer, with one button for each answer; nil for none.
    public var question: ScreenItem?
    /// The app's contents.
    public var content = ScreenContent()
    /// The device's events, payment queue and receipt, and the forms that change the device.
    public var sections: [ConsoleSection] = []

    /// Creates a page without contents.
    public init(_ heading: String, frame: ScreenFrame = ScreenFrame()) { (self.heading, self.frame) = (heading, frame) }

    /// Gives every form and button the token for its address, and every field its id.
    public mutating func finish(token: (String) -> String) {
        var known: [String: Int] = [:]
        func finish(_ form: inout ConsoleForm, in section: String = "app") {
            if form.method == "post" { form.token = token(form.action) }
            form.giveIDs(in: section, &known)
        }
        func finish(_ buttons: inout [ConsoleButton]) {
            for index in buttons.indices { buttons[index].token = token(buttons[index].action) }
        }
        func finish(_ item: inout ScreenItem) {
            for index in item.forms.indices { finish(&item.forms[index]) }
            finish(&item.buttons)
        }
        for index in content.items.indices { finish(&content.items[index]) }
        for index in content.forms.indices { finish(&content.forms[index]) }
        finish(&content.buttons)
        if var asked = question {
            finish(&asked)
            question = asked
        }
        for index in sections.indices {
            let id = sections[index].id
            for form in sections[index].forms.indices { finish(&sections[index].forms[form], in: id) }
            sections[index].table?.giveTokens(token)
        }
    }
}
