import DeviceScreen
import MerchantClient
import SampleTerminal
import StoreKit

/// The app, in a terminal or on a page in a browser. Everything here runs on the main thread.
@MainActor
public final class ServerBooksApp {
    private enum Event: Sendable {
        case stand(BookStand.Event)
        case merchant(MerchantEvent)
    }

    private let options: ServerBooksOptions
    let stand: BookStand
    private let loop = TerminalLoop<Event>()
    private var output = TerminalOutput()
    private var hasShelf = false
    private var hasFailed = false
    /// The page in a browser; nil in a terminal.
    private let screen: DeviceScreen?
    /// The issue that the page shows, by its name.
    var open: String?

    private init(
        options: ServerBooksOptions, merchant: MerchantClientConfiguration, screen: DeviceScreen?
    ) throws {
        self.screen = screen
        self.options = options
        var merchant = merchant
        merchant.finishing = options.finishesFirst ? .afterRedemption : .afterDelivery
        let crash = options.crash
        // Crash in the client's callback, not on the main thread, because the client waits for the callback.
        merchant.onEvent = { [loop] event in
            if crash?.isReached(event) == true { TerminalOutput.crash() }
            loop.send(.merchant(event))
        }
        stand = BookStand(queue: .default(), merchant: try MerchantClient(merchant)) { [loop] event in
            if crash == .purchased, event == .purchased { TerminalOutput.crash() }
            loop.send(.stand(event))
        }
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let (web, arguments) = try ScreenOptions.taken(from: arguments)
            let options = try ServerBooksOptions(arguments: arguments)
            if options.action == .help {
                print(ServerBooksOptions.help)
                return 0
            }
            // On Apple's systems, the bundle id comes from the app's bundle. Here the environment may set it, or else
            // the app itself.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.serverbooks"
            let screen = try await web?.open(
                named: "server-books", usualPort: 8434, &configuration, environment: environment)
            try StoreKitConfiguration.use(configuration)
            let account = try ReaderAccount(options, environment: environment)
            switch options.action {
            case .list, .read, .help: break
            case .ask, .buy, .download, .update, .restore: if let problem = account.problem { complain(problem) }
            }
            let merchant = try MerchantClientConfiguration(merchant: account.merchant, storeKit: configuration) { _ in
                try account.token()
            }
            let app = try ServerBooksApp(options: options, merchant: merchant, screen: screen)
            return await app.run()
        } catch let misuse as ServerBooksOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch let misuse as ScreenOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch {
            complain(
                (error as? MerchantClientError)?.detail ?? (error as? ReaderAccount.Missing)?.text ?? "\(error)")
            return 1
        }
    }

    private static func complain(_ text: String) { TerminalOutput.complain(text, from: "server-books") }

    private func run() async -> Int32 {
        if case .read(let name) = options.action {
            // Downloaded issues can be read offline.
            let known = stand.merchant.cachedProducts.compactMap { Issue($0) }.first { $0.name == name }
            let code: Int32 = read(known, name) ? 0 : 1
            await stand.merchant.close()
            return code
        }
        stand.open()
        if let screen { return await show(on: screen) }
        let code = await loop.run(
            question: options.action == .ask ? "Which (a name buys or opens it)?" : nil,
            isIdle: {
                guard hasShelf else { return false }
                return await !stand.isBusy
            }, onEvent: handle, onLine: handle)
        await stand.close()
        return code ?? (hasFailed ? 1 : 0)
    }

    /// Shows the app on a page, until the process is told to end. It looks for new issues every few seconds.
    private func show(on screen: DeviceScreen) async -> Int32 {
        let events = Task {
            await loop.handleEvents { event in
                _ = handle(event)
                screen.changed()
            }
        }
        let news = Task {
            while (try? await Task.sleep(for: .seconds(3))) != nil { stand.fillShelf() }
        }
        defer {
            events.cancel()
            news.cancel()
        }
        let code = await screen.run(self)
        await stand.close()
        return code
    }

    private func handle(_ event: Event) -> Next {
        switch event {
        case .stand(let event): handle(event)
        case .merchant(let event): handle(event)
        }
    }

    private func handle(_ event: BookStand.Event) -> Next {
        switch event {
        case .shelfChanged:
            guard !hasShelf else { break }
            hasShelf = true
            switch options.action {
            case .buy(let name): return buy(name)
            case .update: stand.update()
            case .restore: stand.restore()
            case .list:
                list()
                return .end(0)
            case .ask: if screen == nil { show() }
            case .download, .read, .help: break
            }
        case .restored: if options.action == .ask { say("Earlier purchases are here, or are being downloaded.") }
        case .failed(let text): fail(text)
        case .cancelled: hasFailed = true
        case .deferred: say("Waiting for approval. The issue arrives once the purchase is approved.", tone: .neutral)
        case .queueChanged, .purchased: break
        }
        return .goOn
    }

    private func handle(_ event: MerchantEvent) -> Next {
        stand.heard(event)
        switch event {
        case .redeemed, .problem, .finished: break
        case .waiting(_, let error, let seconds):
            fail("\(error.localizedDescription) Your purchase is kept\(seconds == nil ? "." : ", and tried again.")")
        case .refused(_, let error): fail(error.localizedDescription)
        case .downloading(let download): tell(download)
        case .delivered(let content): say("\(content.item) is yours, in version \(content.version).")
        case .notDelivered(let item, let error, _): fail("\(item) is not here yet: \(error.localizedDescription)")
        }
        return .goOn
    }

    // MARK: The screen

    private func list() {
        if let problem = stand.problem { print("(\(problem))") }
        for issue in stand.issues {
            print(Self.plain("\(issue.name)  \(issue.title)  \(stand.label(of: issue))"))
        }
        if stand.issues.isEmpty, stand.problem == nil { print("The shelf is empty.") }
    }

    private func show() {
        list()
        print("  u  Get new content")
        print("  r  Restore earlier purchases")
        print("  q  Quit")
    }

    private func say(_ text: String, tone: DeviceScreen.Tone = .good) {
        if let screen { screen.say(text, tone: tone) } else { output.say(Self.plain(text)) }
    }

    /// Removes control characters, which could move the terminal's cursor, because names come from servers.
    private static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }

    private func fail(_ text: String) {
        hasFailed = true
        say(text, tone: .bad)
    }

    private func tell(_ download: MerchantDownload) {
        // The page shows a bar.
        if screen != nil { return }
        var line = "\(Self.plain(download.item.rawValue)): \(Int(download.progress * 100)) %"
        if output.isTerminal, let left = download.secondsLeft {
            line += ", \(Int(min(left, 86_400).rounded(.up))) s left"
        }
        output.show(line, of: download.item.rawValue)
    }

    private func handle(_ line: String) -> Next {
        let word = line.trimmingCharacters(in: .whitespaces).lowercased()
        switch word {
        case "q": return .end(0)
        case "u":
            stand.fillShelf()
            stand.update()
        case "r": stand.restore()
        default:
            guard let issue = stand.issue(named: word) else {
                show()
                break
            }
            if stand.content(of: issue) == nil { buy(word) } else { _ = read(issue, word) }
        }
        return .goOn
    }

    @discardableResult
    func buy(_ name: String) -> Next {
        guard let issue = stand.issue(named: name) else {
            say(stand.problem ?? "There is no issue \(name) on the shelf.", tone: .bad)
            return .end(1)
        }
        if stand.content(of: issue) != nil {
            say("\(issue.title) is yours already.")
            return .goOn
        }
        guard !stand.isOnItsWay(issue) else { return .goOn }
        guard SKPaymentQueue.canMakePayments(), issue.product != nil else {
            say(SKPaymentQueue.canMakePayments() ? stand.label(of: issue) : "AppStore disabled", tone: .bad)
            return .end(1)
        }
        stand.buy(issue)
        return .goOn
    }

    // MARK: Reading

    private func read(_ issue: Issue?, _ name: String) -> Bool {
        guard let issue, let content = stand.content(of: issue) else {
            print("\(name) is not here. (--buy \(name), or --update)")
            return false
        }
        do {
            print(try IssueText(content).text, terminator: "")
            return true
        } catch {
            print("\(name) cannot be read: \(error.localizedDescription)")
            return false
        }
    }
}

extension ServerBooksOptions.Crash {
    /// Returns whether the event is the point at which the process ends.
    func isReached(_ event: MerchantEvent) -> Bool {
        switch (self, event) {
        case (.redeemed, .redeemed), (.delivered, .delivered), (.finished, .finished): true
        case (.percent(let percent), .downloading(let download)): Int(download.progress * 100) >= percent
        default: false
        }
    }
}
