/// A plan that a subscription can change to.
public struct PagePlan: PagePart {
    /// The plan's name.
    public var name: String
    /// The price of a period as customers read it.
    public var price: String
    /// When it begins, in words.
    public var begins: String
    /// The address of the page that asks for a confirmation.
    public var link: String
    /// The link's words.
    public var label: String

    /// Creates it.
    public init(name: String, price: String, begins: String, link: String, label: String) {
        self.name = name
        self.price = price
        self.begins = begins
        self.link = link
        self.label = label
    }
}

/// A subscription on its owner's page.
public struct PageSubscription: PagePart {
    /// An identifier within the page.
    public var id: String
    /// The name of the plan.
    public var name: String
    /// The names of the app and of the group.
    public var about: String
    /// The state in words.
    public var state: String
    /// Whether the customer has access.
    public var isActive: Bool
    /// The facts for the customer, such as the next charge.
    public var facts: [PageFact]
    /// The address of the page that asks whether to turn renewal off; nil when it is off.
    public var turnOff: String?
    /// The address of the form that turns renewal on; nil when it cannot be turned on.
    public var turnOn: String?
    /// The words above the plans.
    public var plansTitle: String
    /// The other plans.
    public var plans: [PagePlan]

    /// Creates it.
    public init(
        id: String, name: String, about: String, state: String, isActive: Bool, facts: [PageFact], turnOff: String?,
        turnOn: String?, plansTitle: String, plans: [PagePlan]
    ) {
        self.id = id
        self.name = name
        self.about = about
        self.state = state
        self.isActive = isActive
        self.facts = facts
        self.turnOff = turnOff
        self.turnOn = turnOn
        self.plansTitle = plansTitle
        self.plans = plans
    }
}

/// The page where a customer manages subscriptions.
public struct SubscriptionsPage: Page {
    /// The template of the page.
    public static let template = "subscriptions"

    /// The parts that all pages of the storefront have.
    public var frame: StoreFrame
    /// A sentence about what was just done.
    public var message: String?
    /// A sentence about what failed.
    public var problem: String?
    /// The account that has the subscriptions.
    public var account: String
    /// The subscriptions.
    public var subscriptions: [PageSubscription]
    /// The sentence when there are none.
    public var nothing: String
    /// The address of further subscriptions.
    public var next: String?
    /// The address that closes the page.
    public var closing: String?

    /// Creates it.
    public init(
        frame: StoreFrame, message: String? = nil, problem: String? = nil, account: String,
        subscriptions: [PageSubscription], nothing: String, next: String?, closing: String?
    ) {
        self.frame = frame
        self.message = message
        self.problem = problem
        self.account = account
        self.subscriptions = subscriptions
        self.nothing = nothing
        self.next = next
        self.closing = closing
    }
}

/// A value that a form sends without showing it.
public struct PageHidden: PagePart {
    /// The name that is sent.
    public var name: String
    /// The value.
    public var value: String

    /// Creates it.
    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// A page that asks whether to do something.
public struct QuestionPage: Page {
    /// The template of questions.
    public static let template = "question"

    /// The parts that all pages of the storefront have.
    public var frame: StoreFrame
    /// The question.
    public var heading: String
    /// The consequences, one to a line.
    public var lines: [String]
    /// The address that the form is sent to.
    public var action: String
    /// The hidden fields of the form.
    public var hidden: [PageHidden]
    /// The button's words.
    public var label: String
    /// The address of the page before.
    public var cancel: String

    /// Creates it.
    public init(
        frame: StoreFrame, heading: String, lines: [String], action: String, hidden: [PageHidden] = [], label: String,
        cancel: String
    ) {
        self.frame = frame
        self.heading = heading
        self.lines = lines
        self.action = action
        self.hidden = hidden
        self.label = label
        self.cancel = cancel
    }
}

/// A page where a customer signs in.
public struct SignInPage: Page {
    /// The template of the page.
    public static let template = "signin"

    /// An environment that can be chosen.
    public struct Choice: PagePart {
        /// The value that is sent.
        public var value: String
        /// The environment's name.
        public var label: String
        /// Whether it is chosen.
        public var isChosen: Bool

        /// Creates it.
        public init(value: String, label: String, isChosen: Bool) {
            self.value = value
            self.label = label
            self.isChosen = isChosen
        }
    }

    /// The parts that all pages of the storefront have.
    public var frame: StoreFrame
    /// The heading.
    public var heading: String
    /// A description of the page that follows the sign-in.
    public var text: String
    /// A sentence about what failed.
    public var problem: String?
    /// The address that the form is sent to.
    public var action: String
    /// The e-mail address that was typed.
    public var email: String
    /// The environments.
    public var choices: [Choice]

    /// Creates it.
    public init(
        frame: StoreFrame, heading: String, text: String, problem: String? = nil, action: String, email: String,
        choices: [Choice]
    ) {
        self.frame = frame
        self.heading = heading
        self.text = text
        self.problem = problem
        self.action = action
        self.email = email
        self.choices = choices
    }
}
