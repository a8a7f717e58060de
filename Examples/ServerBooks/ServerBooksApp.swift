import MerchantClient
import StoreKit

/// The app in a terminal. Everything here runs on the main thread.
@MainActor
public final class ServerBooksApp {
    private enum Input: Sendable {
        case stand(BookStand.Event)
        case merchant(MerchantEvent)
        case typed(String?)
        /// The app sends this to itself to learn that it has handled all earlier inputs.
        case idle
    }

    private enum Next {
        case goOn
        case end(Int32)
    }

    private let options: ServerBooksOptions
    private let stand: BookStand
    private let inputs: AsyncStream<Input>
    private let send: AsyncStream<Input>.Continuation
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var hasShelf = false
    private var isPrompting = false
    private var isIdleSent = false
    private var hasFailed = false
    private var isProgressShown = false
    /// The last line printed for each download, so that the app does not repeat it.
    private var said: [ContentItemID: String] = [:]

    private init(options: ServerBooksOptions, merchant: MerchantClientConfiguration) throws {
        self.options = options
        let (inputs, send) = AsyncStream.makeStream(of: Input.self)
        self.inputs = inputs
        self.send = send
        var merchant = merchant
        merchant.finishing = options.finishesFirst ? .afterRedemption : .afterDelivery
        let crash = options.crash
        // Crash in the client's callback, not on the main thread, because the client waits for the callback.
        merchant.onEvent = { event in
            if crash?.isReached(event) == true { Self.crash() }
            send.yield(.merchant(event))
        }
        stand = BookStand(queue: .default(), merchant: try MerchantClient(merchant)) { event in
            if crash == .purchased, event == .purchased { Self.crash() }
            send.yield(.stand(event))
        }
    }

    /// Ends the process as if it were killed. Not exit(): a killed process runs no cleanup.
    private nonisolated static func crash() -> Never {
        fflush(nil)
        _exit(9)
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let options = try ServerBooksOptions(arguments: arguments)
            if options.action == .help {
                print(ServerBooksOptions.help)
                return 0
            }
            // On Apple's systems, the bundle id comes from the app's bundle. Here the environment may set it, or else
            // the app itself.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.serverbooks"
            try StoreKitConfiguration.use(configuration)
            let account = try ReaderAccount(options, environment: environment)
            let merchant = try MerchantClientConfiguration(merchant: account.merchant, storeKit: configuration) { _ in
                try account.token()
            }
            let app = try ServerBooksApp(options: options, merchant: merchant)
            return await app.run()
        } catch let misuse as ServerBooksOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch {
            complain(
                (error as? MerchantClientError)?.detail ?? (error as? ReaderAccount.Missing)?.text ?? "\(error)")
            return 1
        }
    }

    private static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("server-books: \(text)\n".utf8))
    }

    private func run() async -> Int32 {
        if case .read(let name) = options.action {
            // Downloaded issues can be read offline.
            let known = stand.merchant.cachedProducts.compactMap { Issue($0) }.first { $0.name == name }
            let code: Int32 = read(known, name) ? 0 : 1
            await stand.merchant.close()
            return code
        }
        stand.open()
        let code = await loop()
        await stand.close()
        return code
    }

    private func loop() async -> Int32 {
        for await input in inputs {
            let next: Next
            var isHeard = false
            switch input {
            case .idle:
                (next, isHeard, isIdleSent) = (.goOn, true, false)
            case .stand(let event): next = handle(event)
            case .merchant(let event): next = handle(event)
            case .typed(let line):
                isPrompting = false
                if line == nil { print() }
                next = line.map(handle) ?? .end(0)
            }
            if case .end(let code) = next { return code }
            if let code = await whenIdle(isHeard: isHeard) { return code }
        }
        return 0
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
            case .ask: show()
            case .download, .read, .help: break
            }
        case .restored: if options.action == .ask { say("Everything bought before is on its way, or here.") }
        case .failed(let text): fail(text)
        case .cancelled: hasFailed = true
        case .deferred: say("Waiting for approval. The issue comes when it is given.")
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
        for issue in stand.issues { print(Self.plain("\(issue.name)  \(issue.title)  \(stand.label(of: issue))")) }
        if stand.issues.isEmpty, stand.problem == nil { print("The shelf is empty.") }
    }

    private func show() {
        list()
        print("  u  Get what is new")
        print("  r  Ask the store for what was bought before")
        print("  q  Quit")
    }

    /// Prints a line, below the download's line if one is shown.
    private func say(_ text: String) {
        if isProgressShown { print() }
        isProgressShown = false
        print(Self.plain(text))
    }

    /// Removes control characters, which could move the terminal's cursor, because names come from servers.
    private static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }

    private func fail(_ text: String) {
        hasFailed = true
        say(text)
    }

    private func tell(_ download: MerchantDownload) {
        var line = "\(Self.plain(download.item.rawValue)): \(Int(download.progress * 100)) %"
        if isTerminal, let left = download.secondsLeft { line += ", \(Int(min(left, 86_400).rounded(.up))) s left" }
        guard said.updateValue(line, forKey: download.item) != line else { return }
        guard isTerminal else { return print(line) }
        print("\r\(line)\u{1B}[K", terminator: "")
        isProgressShown = true
        fflush(nil)
    }

    /// Ends the app or asks the next question once the app is idle and has handled all events. It waits because the
    /// payment sheet uses the same terminal.
    ///
    /// - Returns: the exit code if the app ends.
    private func whenIdle(isHeard: Bool) async -> Int32? {
        guard hasShelf, await !stand.isBusy else { return nil }
        guard isHeard else {
            if !isIdleSent { send.yield(.idle) }
            isIdleSent = true
            return nil
        }
        guard options.action == .ask else { return hasFailed ? 1 : 0 }
        if !isPrompting {
            isPrompting = true
            print("Which (a name buys or opens it)? ", terminator: "")
            fflush(nil)
            let send = send
            Thread { send.yield(.typed(readLine())) }.start()
        }
        return nil
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
            if stand.content(of: issue) == nil { _ = buy(word) } else { _ = read(issue, word) }
        }
        return .goOn
    }

    private func buy(_ name: String) -> Next {
        guard let issue = stand.issue(named: name) else {
            say(stand.problem ?? "There is no issue \(name) on the shelf.")
            return .end(1)
        }
        if stand.content(of: issue) != nil {
            say("\(issue.title) is yours already.")
            return .goOn
        }
        guard !stand.isOnItsWay(issue) else { return .goOn }
        guard SKPaymentQueue.canMakePayments(), issue.product != nil else {
            say(SKPaymentQueue.canMakePayments() ? stand.label(of: issue) : "AppStore disabled")
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
