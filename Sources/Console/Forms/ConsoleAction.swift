import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import HTTPTypes
import MerchantWire
import StoreReceipts
import StoreWire

/// A route of an API that a form uses. Only the template counts, so that `.sandbox`, an empty id or a new UUID stands
/// for any value in it.
struct RouteUse: Hashable, Sendable {
    var method: RouteMethod
    var template: String

    /// A route of the control port.
    static func control(_ route: ControlRoute) -> RouteUse { RouteUse(method: route.method, template: route.template) }
    /// A route of a protocol port.
    static func device(_ route: StoreRoute) -> RouteUse { RouteUse(method: route.method, template: route.template) }
    /// A route of the merchant's admin API.
    static func merchant(_ route: MerchantRoute) -> RouteUse {
        RouteUse(method: route.method, template: route.template)
    }
}

/// The action of a form: the routes that it uses, and the page that it returns to.
struct ConsoleAction: Sendable {
    /// The path after the environment, with the names of parameters in braces.
    var path: String
    /// The routes that the form may use.
    var routes: Set<RouteUse>
    /// The page that shows the form again when it is refused, with the same parameters.
    var page: String
    /// The change that the form makes, for the question before a change of production; nil for a form that changes
    /// nothing there.
    var change: String?
    /// Whether the change concerns production from the sandbox's page too and cannot be undone, so that both ask.
    var isFinal = false
    /// The largest body, in bytes.
    var limit = 64 << 10
    /// The largest body as people read it.
    var limitText: String { limit < 1 << 20 ? "\(limit >> 10) kB" : "\(limit >> 20) MB" }
    /// Does it.
    var perform: @Sendable (ActionRequest) async throws -> ActionOutcome

    /// Whether the form works only beside a store: it uses a route that the merchant does not have.
    var needsStore: Bool { !routes.isSubset(of: Self.merchantRoutes) }

    private static let merchantRoutes = Set(MerchantRoute.all.map(RouteUse.merchant))
}

/// A form that was sent.
struct ActionRequest: Sendable {
    /// The page's request, whose query is empty.
    var page: PageRequest
    /// The values of the form.
    var form: QueryParameters
    /// The bytes of the form's file; nil when none was chosen.
    var file: [UInt8]?

    var environment: StoreEnvironment { page.environment }
    var api: ConsoleAPI { page.api }

    /// The trimmed text of a field; nil when it is empty.
    func text(_ name: String) -> String? {
        form[name]?.trimmingCharacters(in: .whitespacesAndNewlines).nonEmpty
    }

    /// The trimmed text of a field.
    /// - Throws: ``FormProblem`` that names the field when it is empty.
    func required(_ name: String, _ label: String) throws -> String {
        guard let text = text(name) else { throw FormProblem(name, "“\(label)” is empty. Fill it in.") }
        return text
    }

    /// The instant in a field in ISO 8601; nil when the field is empty. A person can leave out the time of day, and `T`
    /// and `Z`; all times are UTC.
    /// - Throws: ``FormProblem`` that names the field.
    func instant(_ name: String) throws -> String? {
        guard let text = text(name)?.replacing(" ", with: "T") else { return nil }
        let instant = text.count == 10 ? text + "T00:00:00Z" : text.hasSuffix("Z") ? text : text + "Z"
        guard ReceiptDate(rfc3339: instant.utf8) != nil else {
            throw FormProblem(name, "This instant does not exist. Write one such as 2027-01-31 12:00:00.")
        }
        return instant
    }

    /// Whether a field is on.
    func isOn(_ name: String) -> Bool { form[name] != nil }

    /// The number in a field.
    func number(_ name: String, _ label: String, _ range: ClosedRange<Int>, otherwise: Int) throws -> Int {
        guard let text = text(name) else { return otherwise }
        guard let number = Int(text), range.contains(number) else {
            throw FormProblem(name, "“\(label)” must be a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

/// A value of a form that cannot be right, with the name of its field.
struct FormProblem: Error {
    var field: String
    var message: String

    init(_ field: String, _ message: String) { (self.field, self.message) = (field, message) }
}

/// The result of a form.
enum ActionOutcome: Sendable {
    /// Back to a page of the environment, with a sentence about what was done.
    case done(String, message: String)
    /// A page of its own, such as one with a password that is not shown again.
    case page(ConsolePage)
    /// JSON for the script, with the answer's status.
    case data(Data, status: HTTPResponse.Status = .ok)
}

/// A page: its path after the environment, with the names of parameters in braces, and who makes it.
struct PageRoute: Sendable {
    var path: String
    var area: ConsoleArea
    /// Whether the page exists only beside a store.
    var needsStore = true
    /// The topics whose changes concern the page.
    var topics: [ConsoleTopic] = []
    var make: @Sendable (PageRequest) async throws -> ConsolePage
}

/// The topics in the stream of changes.
enum ConsoleTopic: String, Sendable, CaseIterable {
    case transactions, attempts, accounts, clock, faults, offers
    case catalog, content, reviews, feeds, sheets, screens, requests, audit, processes

    /// The topic's name in the stream. The first six are those of an environment.
    func name(_ environment: StoreEnvironment) -> String {
        switch self {
        case .transactions, .attempts, .accounts, .clock, .faults, .offers: "\(environment.name).\(rawValue)"
        default: rawValue
        }
    }
}

/// The places of the navigation.
enum ConsoleArea: String, Sendable, CaseIterable {
    case overview, products, customers, transactions, subscriptions, content, clock, notifications, inspector,
        merchant, preview, settings, snippets

    var title: String {
        switch self {
        case .clock: "Clock & faults"
        case .content: "Content & review"
        default: rawValue.prefix(1).uppercased() + rawValue.dropFirst()
        }
    }

    /// The path after the environment.
    var path: String { self == .overview ? "" : rawValue }

    /// The letter that leads there after `g`.
    var key: String {
        switch self {
        case .content: "r"
        case .clock: "f"
        case .preview: "v"
        case .subscriptions: "u"
        case .snippets: "x"
        default: String(rawValue.prefix(1))
        }
    }
}
