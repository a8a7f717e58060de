import ConsolePages
import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Logging
import StoreWire
import TestSupport
import Testing

@testable import Console
@testable import StoreServer

/// Parts of pages that depend on what happened, or on how the server was started.
@Suite(.timeLimit(.minutes(1))) struct ConsolePartTests {
    private static let tester = "tester@sandbox.example"

    @Test func theFirstStepsGoOnceAndStayAway() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            func done(_ browser: TestBrowser, _ query: String = "") async throws -> Int? {
                let page = try await browser.get("/sandbox\(query)")
                return page.text.contains("First steps") ? page.text.matches(of: /Done:/).count : nil
            }
            // The merchant's webhook is missing, and so are a purchase and its receipt.
            #expect(try await done(browser) == 1)
            let id = try await console.buy(browser)
            _ = try await console.store.managed.register(
                "com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            #expect(try await done(browser) == 2)
            // An app without purchases, and a restart, change nothing.
            #expect(try await done(browser, "?app=com.example.drafts") == 2)
            #expect(try await done(console.restarted()) == 2)
            #expect(try await browser.get("/sandbox/inspector?transaction=\(id)").text.contains("Genuine"))
            #expect(try await done(browser) == nil)
            #expect(try await done(console.restarted(), "?app=com.example.drafts") == nil)
            let customer = try await browser.get("/sandbox/customers/\(Self.tester)")
            let clear = try #require(customer.forms.first { $0.action.hasSuffix("/clear") })
            let cleared = try await browser.submit(customer, clear.action, [("sure", "yes")])
            #expect(cleared.status == 303, "\(cleared.text)")
            #expect(try await done(browser) == nil)
        }
    }

    @Test func theOverviewListsAppsOnPages() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let none = try await browser.get("/sandbox").text
            #expect(
                none.contains("Apps on a page") && none.contains("cornerstore device web --app com.example.monkeys"))
            let board = console.store.operatorDesk.screens
            for environment in ["sandbox", "production"] {
                let screen = ControlAPI.Screen(
                    bundleId: "com.example.monkeys", name: "<Monkeys>", address: "http://\(environment).localhost:8431",
                    device: "/phone", environment: environment)
                #expect(try board.announce(ControlAPI.ScreenAnnouncement(screen: screen, seconds: 30)))
            }
            let page = try await browser.get("/sandbox").text
            #expect(page.contains(#"<a href="http://sandbox.localhost:8431">&lt;Monkeys&gt;</a>"#))
            #expect(!page.contains("http://production.localhost:8431"))
            _ = try await console.store.managed.register(
                "com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            let other = try await browser.get("/sandbox?app=com.example.drafts").text
            #expect(other.contains("Apps on a page") && !other.contains("http://sandbox.localhost:8431"))
        }
    }

    @Test func listsNameTheCustomerByAddress() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let id = try await console.buy(browser)
            for path in ["", "/transactions"] {
                let page = try await browser.get("/sandbox\(path)")
                #expect(page.text.contains(id) && page.text.contains(">\(Self.tester)</a>"), "\(path)")
            }
            let clock = try await browser.get("/sandbox/clock")
            let token = try #require(clock.form("/sandbox/recipes")?.first { $0.0 == "token" }?.1)
            _ = try await browser.send(.post, "/sandbox/recipes", body: "token=\(token)&recipe=card")
            let declined = try await browser.submit(
                try await browser.get("/sandbox/buy"), "/sandbox/buy",
                [
                    ("email", Self.tester), ("password", ""), ("product", "com.example.monkeys hats"),
                    ("quantity", "1"),
                ])
            #expect(declined.status == 422)
            let attempts = try await browser.get("/sandbox/attempts")
            #expect(attempts.text.contains("Declined") && attempts.text.contains(">\(Self.tester)</a>"))
        }
    }

    @Test func onlyASubscriptionsPriceIsRaised() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            _ = try await console.store.managed.register(
                "com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            let (path, action) = ("/sandbox/customers/\(Self.tester)", "/price-increase\"")
            let page = try await browser.get(path).text
            let form = page[try #require(page.range(of: action)).upperBound...]
            let options = form[..<(try #require(form.range(of: "</form>")).lowerBound)]
            #expect(options.contains("com.example.monkeys club.monthly"))
            #expect(!options.contains("credits5") && !options.contains("hats"))
            #expect(try await !browser.get("\(path)?app=com.example.drafts").text.contains(action))
        }
    }

    @Test func commandsNameADataDirectoryThatIsNotTheUsualOne() async throws {
        try await RunningConsole.with(variable: ("CORNERSTORE_DATA", "/srv/my store")) { console in
            let browser = console.browser()
            let words = "CORNERSTORE_DATA='/srv/my store' "
            for path in ["", "/customers", "/transactions", "/settings", "/notifications", "/snippets", "/merchant"] {
                let text = try await browser.get("/sandbox\(path)").text.unescaped
                #expect(text.contains("\(words)cornerstore "), "\(path)")
                let bare = text.matches(of: /(<code>|\(|\w )cornerstore [a-z]+/).map { String($0.0) }
                #expect(bare.isEmpty, "\(path): \(bare)")
            }
            // A file is not a command.
            _ = try await console.store.managed.register(
                "com.example.drafts", name: "Say cornerstore buy", sellsInAppPurchases: true, by: "anna")
            let file = try await browser.get("/sandbox/managed/com.example.drafts?export=yaml").text.unescaped
            #expect(file.contains("App.yaml") && !file.contains("Say \(words)"))
        }
    }

    @Test func `a file of the ledger is refused with a sentence, and says where it ends`() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let ids = [try await console.buy(browser), try await console.buy(browser)]
            for ending in ["csv", "json"] {
                let nobody = try await browser.get("/sandbox/transactions.\(ending)?account=nobody@example.com")
                #expect(nobody.status == 404 && nobody.text.contains("role=\"alert\""), "\(nobody.text)")
                let day = try await browser.get("/sandbox/transactions.\(ending)?from=tomorrow")
                #expect(day.status == 400 && day.text.contains("must be a date in ISO 8601"), "\(day.text)")
            }
            let configuration = ConsoleConfiguration(limits: ServerLimits())
            let sessions = ConsoleSessions(now: { console.now.date })
            let pages = PageController(
                pages: PageMaker(configuration: configuration, sessions: sessions), sessions: sessions,
                backends: ConsoleBackends(control: console.store.inProcessControl), configuration: configuration,
                memory: ConsoleMemory(now: { console.now.date }))
            let router = Router(context: ConsoleRequestContext.self)
            ExportController(controller: pages, rows: 1, most: 1).addRoutes(to: router)
            let short = TestBrowser(responder: router.buildResponder())
            let rest = "The file ends after 1 transactions. Add before=\(ids[1]) to its address to go on."
            let csv = try await short.get("/sandbox/transactions.csv").text
            #expect(csv.contains("\(ids[1]),") && !csv.contains("\(ids[0]),") && csv.hasSuffix("\r\n\(rest)\r\n"))
            let json = try await short.get("/sandbox/transactions.json").text
            #expect(json.hasSuffix(",\n{\"cut\":\"\(rest)\"}\n]\n"), "\(json)")
            let second = try await short.get("/sandbox/transactions.csv?before=\(ids[1])").text
            #expect(second.contains("\(ids[0]),") && !second.contains("The file ends"))
        }
    }

    @Test func `the choice of an app and the way back to a list's first page keep its filters`() async throws {
        try await RunningConsole.with { console in
            _ = try await console.store.managed.register(
                "com.example.drafts", name: nil, sellsInAppPurchases: true, by: "anna")
            let browser = console.browser()
            let list = try await browser.get("/sandbox/transactions?product=hats&state=finished&before=9").text
            let kept = ["product", "state"].map { "<input type=\"hidden\" name=\"\($0)\" value=\"" }
            #expect(list.contains(kept[0] + "hats\">" + kept[1] + "finished\"><label for=\"app\">"), "\(list)")
            let customers = try await browser.get("/sandbox/customers?after=a&start=t&flag=locked").text.unescaped
            #expect(customers.contains("href=\"/sandbox/customers?start=t&flag=locked\">First</a>"), "\(customers)")
        }
    }

    @Test func limitsAndPortsHaveWords() async throws {
        try await RunningConsole.with { console in
            let page = try await console.browser().get("/sandbox/settings").text
            #expect(page.contains("<dt>Connections of each port</dt>") && page.contains("<small>connections</small>"))
            let names = page.matches(of: /<dt>([^<]*)<\/dt>/).map { String($0.1) }
            #expect(names.allSatisfy { $0.first?.isUppercase == true }, "\(names)")
        }
    }

    @Test func changesOfOperatorsHaveWords() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let made = try await browser.submit(
                try await browser.get("/sandbox/customers"), "/sandbox/customers/new", [("email", "a@example.com")])
            #expect(made.status == 200, "\(made.text)")
            for path in ["settings", "customers/a@example.com"] {
                let page = try await browser.get("/sandbox/\(path)").text
                #expect(page.contains("Create a customer <small>POST /control/v1/{environment}/accounts"), "\(path)")
            }
        }
    }

    @Test func aFrozenClockSaysSoToTheScript() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let clock = try await browser.get("/sandbox/clock")
            #expect(!clock.text.contains("frozen\""))
            #expect(try await browser.submit(clock, "/sandbox/clock/freeze").status == 303)
            #expect(try await browser.get("/sandbox").text.contains("class=\"clock moved frozen\""))
        }
    }

    @Test func `the processes of a store are listed, and the overview counts those that fail`() async throws {
        try await RunningConsole.with { console in
            let alone = console.browser()
            #expect(try await !alone.get("/sandbox/settings").text.contains("id=\"processes\""))
            #expect(try await !alone.get("/sandbox").text.contains(">Processes<"))

            func process(_ node: Int, _ state: String, silence: Int = 0) -> ControlAPI.StoreProcess {
                ControlAPI.StoreProcess(
                    node: node, name: "process \(4_700 + node) on store-\(node)",
                    address: "http://10.0.0.1\(node):8400", startedDate: "2027-01-15T07:00:00.000Z", isOwn: node == 1,
                    state: state, silence: silence)
            }
            var control = SharedControl(
                calls: console.store.inProcessControl,
                processes: [
                    process(1, "ready"), process(2, "cannot_hear"), process(3, "silent", silence: 180),
                    process(4, "no_standby"), process(5, "starting"),
                ])
            var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
            logger.logLevel = .critical
            func browser(_ control: SharedControl) -> TestBrowser {
                let application = ConsoleApplication(
                    ConsoleConfiguration(limits: ServerLimits()), ConsoleBackends(control: control),
                    now: { console.now.date }, logger: logger, onReady: { _ in })
                return TestBrowser(responder: application.router().buildResponder())
            }
            let shared = browser(control)
            let settings = try await shared.get("/sandbox/settings").text
            #expect(settings.contains("id=\"processes\""))
            for words in [
                "process 4701 on store-1", "this one", "http://10.0.0.13:8400", "2027-01-15 07:00:00", "Ready",
                "Does not hear the others", "cannot_hear", "Silent", "for 3 min", "No standby confirms its writes",
                "Is starting",
            ] {
                #expect(settings.contains(words), "\(words)")
            }
            let overview = try await shared.get("/sandbox").text
            #expect(overview.contains("4 not ready") && overview.contains("of this process"))
            #expect(try await shared.get("/sandbox/notifications").text.contains(ProcessParts.ownNote))

            // Without the list, the overview does not look like that of a store of one process.
            control.processes = nil
            let failed = try await browser(control).get("/sandbox")
            #expect(failed.status == 503 && failed.text.contains("The server answered HTTP 503."))
        }
    }
}

/// A control port of a store that has processes beside it. It does not tell its settings when it has no list of them.
private struct SharedControl: APICalls {
    let calls: any APICalls
    var processes: [ControlAPI.StoreProcess]?

    func send(
        _ method: String, _ path: String, body: [UInt8]?, type: String, token: String?, for caller: APICaller
    ) async throws -> APIAnswer {
        var answer = try await calls.send(method, path, body: body, type: type, token: token, for: caller)
        guard path == ControlRoute.settings.path else { return answer }
        guard let processes else { return APIAnswer(status: 503, body: Data()) }
        var settings = try JSONDecoder().decode(ControlAPI.Settings.self, from: answer.body)
        settings.processes = processes
        answer.body = try JSONEncoder().encode(settings)
        return answer
    }

    func stream(_ path: String, for caller: APICaller) async throws -> Response {
        try await calls.stream(path, for: caller)
    }
}
