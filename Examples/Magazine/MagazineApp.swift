import DeviceScreen
import MerchantClient
import SampleTerminal
import StoreKit

/// The app, in a terminal or on a page in a browser. Everything here runs on the main thread.
@MainActor
public final class MagazineApp {
    private enum Event: Sendable {
        case store(MagazineStore.Event)
        case merchant(MerchantEvent)
    }

    private let options: MagazineOptions
    let store: MagazineStore
    private let loop = TerminalLoop<Event>()
    private var hasPrices = false
    private var hasStatus = false
    private var hasStarted = false
    private var hasFailed = false
    /// The page in a browser; nil in a terminal.
    private let screen: DeviceScreen?

    private init(
        options: MagazineOptions, reader: ReceiptReader, merchant: MerchantClientConfiguration?, screen: DeviceScreen?
    ) throws {
        self.screen = screen
        self.options = options
        var client: MerchantClient?
        if var merchant {
            merchant.onEvent = { [loop] in loop.send(.merchant($0)) }
            client = try MerchantClient(merchant)
        }
        store = MagazineStore(queue: .default(), reader: reader, merchant: client) { [loop] in loop.send(.store($0)) }
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let (web, arguments) = try ScreenOptions.taken(from: arguments)
            let options = try MagazineOptions(arguments: arguments)
            if options.action == .help {
                print(MagazineOptions.help)
                return 0
            }
            // On Apple's systems, the bundle id comes from the app's bundle. Here the environment may set it, or else
            // the app itself.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.magazine"
            let screen = try await web?.open(
                named: "magazine", usualPort: 8436, &configuration, environment: environment)
            try StoreKitConfiguration.use(configuration)
            let app = try MagazineApp(
                options: options, reader: try ReceiptReader(configuration),
                merchant: try ReaderServer.client(environment, configuration), screen: screen)
            return await app.run()
        } catch let misuse as MagazineOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch let misuse as ScreenOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch {
            complain((error as? MerchantClientError)?.detail ?? error.localizedDescription)
            return 1
        }
    }

    private static func complain(_ text: String) { TerminalOutput.complain(text, from: "magazine") }

    private func run() async -> Int32 {
        store.open()
        if let screen { return await show(on: screen) }
        let code = await loop.run(
            question: options.action == .ask ? "Which (a number buys it)?" : nil,
            // StoreKit needs time to deliver the renewals.
            pause: options.action == .status ? 0.5 : 0,
            isIdle: {
                guard hasStarted else { return false }
                return await !store.isBusy
            }, onEvent: handle, onLine: handle)
        await store.close()
        // The last event is known when the app is idle.
        if code == nil, !hasFailed, options.action != .list { showStatus() }
        return code ?? (hasFailed ? 1 : 0)
    }

    /// Shows the app on a page, until the process is told to end.
    private func show(on screen: DeviceScreen) async -> Int32 {
        let events = Task {
            await loop.handleEvents { event in
                _ = handle(event)
                screen.changed()
            }
        }
        defer { events.cancel() }
        let code = await screen.run(self)
        await store.close()
        return code
    }

    /// Tells the reader something, in the terminal or on the page.
    private func say(_ text: String, tone: DeviceScreen.Tone = .good) {
        if let screen { screen.say(text, tone: tone) } else { print(text) }
    }

    private func handle(_ event: Event) -> Next {
        switch event {
        case .store(let event): return handle(event)
        case .merchant(let event):
            store.heard(event)
            return .goOn
        }
    }

    private func handle(_ event: MagazineStore.Event) -> Next {
        switch event {
        case .pricesChanged:
            hasPrices = true
            return start()
        case .statusChanged:
            hasStatus = true
            if hasStarted, options.action == .ask, screen == nil { showStatus() }
            return start()
        case .restored: say("Everything bought before is here.")
        case .failed(let text):
            hasFailed = true
            say(text, tone: .bad)
        case .cancelled: hasFailed = true
        case .deferred:
            say("Waiting for approval. The subscription begins once the purchase is approved.", tone: .neutral)
        case .queueChanged: break
        }
        return .goOn
    }

    /// Begins with the action when prices and status are known.
    private func start() -> Next {
        guard hasPrices, hasStatus, !hasStarted else { return .goOn }
        hasStarted = true
        switch options.action {
        case .buy(let plan): return buy(plan)
        case .restore: store.restore()
        case .status: store.refresh()
        case .list: list()
        case .ask: if screen == nil { show() }
        case .help: break
        }
        return .goOn
    }

    // MARK: The screen

    private func list() {
        for (number, plan) in Plan.allCases.enumerated() {
            print("  \(number + 1)  \(plan.rawValue)  [ \(store.label(of: plan)) ]")
        }
    }

    private func show() {
        showStatus()
        list()
        print("  s  Ask for the status")
        print("  r  Restore purchases")
        print("  q  Quit")
    }

    private func showStatus() {
        print("By the receipt: \(receiptText)")
        if let serverText { print("By the server: \(serverText)") }
    }

    /// The status by the receipt.
    var receiptText: String { store.receiptProblem ?? store.receipt?.text ?? "no subscription" }

    /// The status by the server; nil without a server.
    var serverText: String? {
        guard store.merchant != nil else { return nil }
        return store.serverProblem ?? store.server?.text ?? "no subscription"
    }

    private func handle(_ line: String) -> Next {
        let word = line.trimmingCharacters(in: .whitespaces).lowercased()
        switch word {
        case "q": return .end(0)
        case "s": store.refresh()
        case "r": store.restore()
        default:
            guard let number = Int(word), Plan.allCases.indices.contains(number - 1) else {
                show()
                break
            }
            buy(Plan.allCases[number - 1])
        }
        return .goOn
    }

    @discardableResult
    func buy(_ plan: Plan) -> Next {
        guard !store.has(plan) else {
            say("\(plan.title) is yours already; nothing was bought.")
            return .goOn
        }
        guard SKPaymentQueue.canMakePayments(), let product = store.product(of: plan) else {
            say(SKPaymentQueue.canMakePayments() ? store.label(of: plan) : "AppStore disabled", tone: .bad)
            return .end(1)
        }
        store.buy(product)
        return .goOn
    }
}
