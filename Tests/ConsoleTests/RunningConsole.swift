import ConsolePages
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Store
import StoreServer
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Console

/// A console over a store in this process, for one test. No port is opened.
struct RunningConsole: Sendable {
    let application: ConsoleApplication
    let responder: RouterResponder<ConsoleRequestContext>
    let store: StoreApplication
    /// The routes that the console asked, each as `METHOD path` without its query.
    let asked: AskedRoutes
    let now: TestTime

    static let bundleID: BundleID = "com.example.monkeys"
    static let host = "cornerstore.localhost:8420"

    private static let catalog = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.monkeys
            name: Monkeys
            products:
              - productID: credits5
                type: Consumable
                displayPrice: 0.99
              - productID: hats
                type: NonConsumable
                displayPrice: 2.99
                availability: { except: [FRA] }
                localizations:
                  - { locale: en_US, displayName: Hats, description: A hat for each monkey. }
                  - { locale: de, displayName: Hüte, description: Ein Hut für jeden Affen. }
            subscriptionGroups:
              - id: "21000001"
                name: Club
                subscriptions:
                  - productID: club.monthly
                    groupNumber: 1
                    recurringSubscriptionPeriod: P1M
                    displayPrice: 5.99
                    introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P1W }]
                    codeOffers: [{ referenceName: Spring, paymentMode: free, subscriptionPeriod: P1M }]
        """

    static func with(
        adminToken: String? = nil, publicHost: String? = nil, variable: (name: String, value: String)? = nil,
        _ body: @escaping @Sendable (RunningConsole) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data(Self.catalog.utf8).write(to: catalog)
            var configuration = StoreServerConfiguration(
                dataDirectory: directory.url.appendingPathComponent("data"),
                catalogFiles: [CatalogFile(path: catalog.path, bundleID: nil)], controlPort: 0, sandboxPort: 0,
                productionPort: 0, storefrontPort: 0)
            configuration.passwordCost = PasswordCost(rounds: 16)
            try await SharedAuthority.copy(to: configuration.dataDirectory.appendingPathComponent("authority"))
            try await Backend.writeFiles(StoreDatabases.migrations, in: configuration.dataDirectory)
            var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
            logger.logLevel = .critical
            let store = try await StoreApplication.open(configuration, now: { Date() }, logger: logger)
            do {
                let (asked, now) = (AskedRoutes(), TestTime())
                var settings = ConsoleConfiguration(limits: ServerLimits())
                settings.adminToken = adminToken
                settings.publicHost = publicHost
                settings.commandVariable = variable
                let tester = SandboxTester.read(from: configuration.dataDirectory)
                let backends = ConsoleBackends(
                    control: RecordingCalls(calls: store.inProcessControl, asked: asked),
                    devices: Dictionary(
                        uniqueKeysWithValues: StoreEnvironment.allCases.map {
                            ($0, RecordingCalls(calls: store.inProcessDevice($0), asked: asked))
                        }), merchant: RecordingCalls(calls: NoMerchant(), asked: asked),
                    tester: { tester.map { ConsoleTester(email: $0.email, password: $0.password) } },
                    certificates: ConsoleCertificates(roots: [store.authority.receiptRoot, store.authority.jwsRoot]),
                    inspectedFile: configuration.dataDirectory.appendingPathComponent("receipt-inspected"))
                let application = ConsoleApplication(
                    settings, backends, now: { now.date }, logger: logger, onReady: { _ in })
                try await body(
                    RunningConsole(
                        application: application, responder: application.router().buildResponder(), store: store,
                        asked: asked, now: now))
            } catch {
                await store.close()
                throw error
            }
            await store.close()
        }
    }

    /// A browser at the console of a merchant that runs without a store.
    static func ofMerchant(
        adminToken: String? = nil, variable: (name: String, value: String)? = nil
    ) -> TestBrowser {
        var settings = ConsoleConfiguration(limits: ServerLimits())
        settings.adminToken = adminToken
        settings.commandVariable = variable
        var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        let now = TestTime()
        let application = ConsoleApplication(
            settings, ConsoleBackends(control: nil, merchant: NoMerchant()), now: { now.date }, logger: logger,
            onReady: { _ in })
        return TestBrowser(responder: application.router().buildResponder())
    }

    /// A browser: it keeps the console's cookie and sends what browsers send.
    func browser() -> TestBrowser { TestBrowser(responder: responder) }

    /// A browser at the console after a restart, which forgets what only the process knew.
    func restarted() -> TestBrowser { TestBrowser(responder: application.router().buildResponder()) }

    /// Buys as the tester.
    /// - Returns: the transaction's id.
    func buy(_ browser: TestBrowser) async throws -> String {
        let form = try await browser.get("/sandbox/buy")
        let done = try await browser.submit(
            form, "/sandbox/buy",
            [
                ("email", "tester@sandbox.example"), ("password", ""), ("product", "com.example.monkeys credits5"),
                ("quantity", "2"), ("finish", "yes"),
            ])
        #expect(done.status == 303, "\(done.text)")
        let place = try #require(done.headers[.location])
        return String(try #require(place.split(separator: "/").last).prefix { $0 != "?" })
    }

    /// A customer who is new.
    func customer(_ environment: StoreEnvironment = .sandbox) async throws -> String {
        let email = "\(UUID().uuidString.lowercased())@example.com"
        let store = environment == .sandbox ? store.sandbox : store.production
        _ = try await store.accounts.create(
            NewAccount(email: email, password: "a password", storefront: "USA"), at: store.clock.milliseconds)
        return email
    }
}

/// The machine's clock of a test.
final class TestTime: Sendable {
    private let seconds = Mutex(1_800_000_000.0)
    var date: Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
    func advance(_ by: Double) { seconds.withLock { $0 += by } }
}

/// The routes that were asked.
final class AskedRoutes: Sendable {
    private let list = Mutex<[String]>([])
    func add(_ route: String) { list.withLock { $0.append(route) } }
    /// Returns the routes since the last call.
    func take() -> [String] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}

/// Passes calls on and notes them.
struct RecordingCalls: APICalls {
    let calls: any APICalls
    let asked: AskedRoutes

    func send(
        _ method: String, _ path: String, body: [UInt8]?, type: String, token: String?, for caller: APICaller
    ) async throws -> APIAnswer {
        asked.add("\(method) \(path.prefix { $0 != "?" })")
        return try await calls.send(method, path, body: body, type: type, token: token, for: caller)
    }

    func stream(_ path: String, for caller: APICaller) async throws -> Response {
        try await calls.stream(path, for: caller)
    }
}

/// A merchant with nothing.
struct NoMerchant: APICalls {
    func send(
        _ method: String, _ path: String, body: [UInt8]?, type: String, token: String?, for caller: APICaller
    ) async throws -> APIAnswer {
        let keys = (["backend"] + (101...150).map { "job\($0)" })
            .map { #"{"name":"\#($0)","scopes":["users"],"createdAt":1}"# }.joined(separator: ",")
        let files = (100...150).map {
            #"{"item":"file\#($0)","version":1,"digest":"","size":1,"mediaType":"text/plain","createdAt":1}"#
        }.joined(separator: ",")
        let bodies = [
            "/admin/v1/products":
                #"{"revision":1,"products":[{"bundleId":"com.example.monkeys","productId":"credits5","kind":"consumable","grants":[{"credits":5,"currency":"coins"}],"isOnSale":true}]}"#,
            "/admin/v1/users": #"{"users":[{"userId":"ann"}]}"#, "/admin/v1/redemptions": #"{"redemptions":[]}"#,
            "/admin/v1/users/ann/redemptions": #"{"redemptions":[]}"#,
            "/admin/v1/keys": #"{"keys":[\#(keys)]}"#,
            "/admin/v1/webhooks/events":
                #"{"events":[{"eventId":"e1","type":"purchase","state":"dead","createdAt":1,"attempts":3}]}"#,
            "/admin/v1/webhooks/events/e1":
                #"{"event":{"eventId":"e1","type":"purchase","state":"dead","createdAt":1,"attempts":1},"body":"{}","attempts":[{"attempt":1,"sentAt":1,"duration":5,"status":500,"answer":"no"}]}"#,
            "/admin/v1/content": #"{"items":[\#(files)]}"#,
            "/admin/v1/webhooks/dead":
                #"{"events":[{"eventId":"e1","type":"purchase","createdAt":1,"attempts":3,"reason":"no answer"}]}"#,
            "/admin/v1/settings":
                #"{"bundleIds":["com.example.monkeys"],"stores":["apple"],"asksStore":false,"environments":["Sandbox"],"usualEnvironment":"Sandbox","joinsEnvironments":false,"conflict":"refuse","refund":"toZero","superseded":"takeBack","givesCreditsForTrials":false,"givesCreditsForSharedCopies":false,"downloadsBeforeRedemption":50,"rates":{"address":{"burst":600,"perSecond":200},"user":{"burst":60,"perSecond":20},"key":{"burst":300,"perSecond":0.5},"addressGuesses":{"burst":100,"perSecond":0.2},"userGuesses":{"burst":10,"perSecond":0.02}},"isBehindProxy":false,"database":"SQLite"}"#,
            "/admin/v1/webhooks/test": #"{"eventId":"e2"}"#,
            "/admin/v1/books/check": #"{"accounts":1,"entries":2,"outstanding":[],"findings":[]}"#,
            "/admin/v1/users/ann":
                #"{"userId":"ann","balances":[{"currency":"coins","amount":5,"environment":"Sandbox"}],"entitlements":[],"flags":[]}"#,
            "/admin/v1/users/ann/history":
                #"{"currency":"coins","entries":[{"entry":1,"kind":"grant","amount":5,"balance":5,"createdAt":1,"environment":"Sandbox"}],"environment":"Sandbox"}"#,
            "/admin/v1/users/ann/adjustments":
                #"{"entry":2,"kind":"adjustment","amount":1,"balance":6,"createdAt":1,"environment":"Sandbox"}"#,
            "/admin/v1/products/com.example.monkeys/credits5":
                #"{"bundleId":"com.example.monkeys","productId":"credits5","kind":"consumable","grants":[{"credits":5,"currency":"coins"}],"isOnSale":false}"#,
        ]
        if path.hasPrefix("/admin/v1/transactions/") { return APIAnswer(status: 200, body: Self.transaction(path)) }
        if path.hasPrefix("/admin/v1/users/ann/history?currency=gems") {
            return APIAnswer(status: 200, body: Self.longHistory)
        }
        if method == "POST", path == "/admin/v1/keys" {
            return APIAnswer(status: 200, body: Data(#"{"name":"jobs","scopes":["users"],"key":"cs_made"}"#.utf8))
        }
        guard let body = bodies[String(path.prefix { $0 != "?" })] else {
            return path.hasSuffix("/send") || method == "DELETE"
                ? APIAnswer(status: 204, body: Data())
                : APIAnswer(status: 404, body: Data(#"{"code":"not_found","message":"There is nothing here."}"#.utf8))
        }
        return APIAnswer(status: 200, body: Data(body.utf8))
    }

    /// The newest 200 of 400 entries, which is the most that a merchant answers.
    private static var longHistory: Data {
        let entries = (201...400).reversed().map {
            #"{"entry":\#($0),"kind":"adjustment","amount":1,"balance":\#($0),"createdAt":1,"environment":"Sandbox"}"#
        }.joined(separator: ",")
        return Data(#"{"currency":"gems","entries":[\#(entries)],"next":201,"environment":"Sandbox"}"#.utf8)
    }

    /// Every transaction but 404 was redeemed by Ann.
    private static func transaction(_ path: String) -> Data {
        let id = path.split(separator: "/").last.map { $0.prefix { $0 != "?" } } ?? ""
        guard id != "404" else { return Data(#"{"redemptions":[],"entries":[]}"#.utf8) }
        return Data(
            """
            {"redemptions":[{"purchase":"s/S/com.example.monkeys/t/\(id)","userId":"ann","productId":"credits5",\
            "transactionId":"\(id)","originalTransactionId":"\(id)","quantity":1,\
            "grants":[{"credits":5,"currency":"coins","lifetime":7200}],"purchasedAt":1,"redeemedAt":2,\
            "state":"granted","takenBack":[],"environment":"Sandbox"}],\
            "entries":[{"userId":"ann","currency":"coins","entry":{"entry":7,"kind":"grant","amount":5,"balance":12,\
            "createdAt":2,"environment":"Sandbox"}}]}
            """.utf8)
    }

    func stream(_ path: String, for caller: APICaller) async throws -> Response { Response(status: .notFound) }
}

/// A browser of a test.
final class TestBrowser: Sendable {
    private let responder: RouterResponder<ConsoleRequestContext>
    private let cookie = Mutex<String?>(nil)

    init(responder: RouterResponder<ConsoleRequestContext>) { self.responder = responder }

    struct Page: Sendable {
        var status: Int
        var text: String
        var headers: HTTPFields

        /// The forms that change something: their addresses with the hidden values and the token.
        var forms: [(action: String, values: [(String, String)])] {
            text.matches(of: /<form method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/.dotMatchesNewlines()).map {
                form in
                let inputs = form.2.matches(of: /<input type="hidden" name="([^"]*)" value="([^"]*)">/)
                return (String(form.1), inputs.map { (String($0.1), String($0.2).unescaped) })
            }
        }

        func form(_ action: String) -> [(String, String)]? { forms.first { $0.action == action }?.values }
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, body: String? = nil, bytes: [UInt8]? = nil,
        headers: [(String, String)] = [], keepsCookie: Bool = true
    ) async throws -> Page {
        var fields: HTTPFields = [.accept: "text/html"]
        if let cookie = cookie.withLock({ $0 }), keepsCookie { fields[.cookie] = cookie }
        if body != nil { fields[.contentType] = "application/x-www-form-urlencoded" }
        if method == .post { fields[HTTPField.Name("Sec-Fetch-Site") ?? .age] = "same-origin" }
        var authority = RunningConsole.host
        for (name, value) in headers {
            if name == "Host" {
                authority = value
            } else if let name = HTTPField.Name(name) {
                fields[name] = value.isEmpty ? nil : value
            }
        }
        var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        logger[metadataKey: "hb.request.id"] = "test-request"
        let response = try await responder.respond(
            to: Request(
                head: HTTPRequest(
                    method: method, scheme: "http", authority: authority, path: path, headerFields: fields),
                body: RequestBody(buffer: ByteBuffer(bytes: bytes ?? Array((body ?? "").utf8)))),
            context: ConsoleRequestContext(
                source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: logger)))
        for value in response.headers[values: .setCookie] {
            let pair = String(value.prefix { $0 != ";" })
            cookie.withLock { $0 = pair.hasSuffix("=") ? nil : pair }
        }
        let written = WrittenBody()
        try await response.body.write(written)
        return Page(status: response.status.code, text: written.text, headers: response.headers)
    }

    func get(_ path: String) async throws -> Page { try await send(.get, path) }

    /// Fills a form of a page in and sends it.
    func submit(_ page: Page, _ action: String, _ typed: [(String, String)] = []) async throws -> Page {
        let values = (page.form(action) ?? []) + typed
        let body = values.map { "\($0.0.percentEncodedForForm)=\($0.1.percentEncodedForForm)" }.joined(separator: "&")
        return try await send(.post, action, body: body)
    }

    /// Fills a form with a file in and sends it.
    func upload(_ page: Page, _ action: String, _ typed: [(String, String)], file: [UInt8]) async throws -> Page {
        let form = MultipartForm(
            (page.form(action) ?? []) + typed, files: [MultipartForm.File(name: "file", content: file)])
        return try await send(.post, action, bytes: form.bytes, headers: [("Content-Type", form.type)])
    }

    /// Follows an answer to the page that it names.
    func follow(_ page: Page) async throws -> Page {
        guard page.status == 303, let location = page.headers[.location] else { return page }
        return try await get(location)
    }
}

/// A form as browsers send it when it has a field for a file.
struct MultipartForm {
    struct File {
        var name: String
        var fileName = "receipt"
        var content: [UInt8]
    }

    var boundary = "----WebKitFormBoundaryx0YHlD2cR7Aq5dTz"
    var bytes: [UInt8] = []
    var type: String { "multipart/form-data; boundary=\(boundary)" }

    init(_ values: [(String, String)], files: [File]) {
        for (name, value) in values { add("name=\"\(name)\"", "", Array(value.utf8)) }
        for file in files {
            add(
                "name=\"\(file.name)\"; filename=\"\(file.fileName)\"",
                "Content-Type: application/octet-stream\r\n", file.content)
        }
        bytes += Array("--\(boundary)--\r\n".utf8)
    }

    private mutating func add(_ what: String, _ more: String, _ content: [UInt8]) {
        bytes += Array("--\(boundary)\r\nContent-Disposition: form-data; \(what)\r\n\(more)\r\n".utf8)
        bytes += content + Array("\r\n".utf8)
    }
}

extension String {
    var percentEncodedForForm: String { addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
    var unescaped: String {
        replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }
}

/// Collects an answer's body.
private final class WrittenBody: ResponseBodyWriter, Sendable {
    private let whole = Mutex(ByteBuffer())
    var text: String { whole.withLock { String(buffer: $0) } }
    func write(_ buffer: ByteBuffer) async throws { whole.withLock { _ = $0.writeImmutableBuffer(buffer) } }
    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
