import DeviceScreen
import PurchaseVault
import SampleTerminal
import StoreKit

/// The app: the balance, two buttons, and what happens. It runs in a terminal, with a prompt, or on a page in a
/// browser. Everything here runs on the main thread.
@MainActor
public final class MonkeyCreditsApp {
    private let options: MonkeyCreditsOptions
    private let vault: PurchaseVault
    let store: MonkeyStore
    /// The page in a browser; nil in a terminal.
    private let screen: DeviceScreen?
    private let loop = TerminalLoop<MonkeyStore.Event>()
    private var hasPrices = false
    private var hasFailed = false

    private init(options: MonkeyCreditsOptions, vault: PurchaseVault, player: Player, screen: DeviceScreen?) {
        self.options = options
        self.screen = screen
        self.vault = vault
        store = MonkeyStore(queue: .default(), vault: vault, player: player) { [loop] in loop.send($0) }
        if options.crashesAfterPurchased {
            store.beforeGrant = {
                print("(crashes here, before the credits are granted)")
                TerminalOutput.crash()
            }
        }
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let (web, arguments) = try ScreenOptions.taken(from: arguments)
            let options = try MonkeyCreditsOptions(arguments: arguments)
            if options.showsHelp {
                print(MonkeyCreditsOptions.help)
                return 0
            }
            // On Apple's systems, the bundle id comes from the app's bundle. Here the environment may set it, or else
            // the app itself.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.monkeys"
            let screen = try await web?.open(
                named: "monkey-credits", usualPort: 8431, &configuration, environment: environment)
            try StoreKitConfiguration.use(configuration)
            // The app does not keep the balance in a plain file, which anybody could edit. The vault computes the
            // balance from the receipts and records the spends.
            let vault = try await PurchaseVault(
                VaultConfiguration(storeKit: .current, grants: CreditPack.grants, now: { Date() }))
            for incident in vault.report.incidents { complain(incident.description) }
            let player = try Player(folder: configuration.deviceFolder.appendingPathComponent("monkey-credits"))
            return await MonkeyCreditsApp(options: options, vault: vault, player: player, screen: screen).run()
        } catch let misuse as MonkeyCreditsOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch let misuse as ScreenOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch {
            complain(error.localizedDescription)
            return 1
        }
    }

    private static func complain(_ text: String) { TerminalOutput.complain(text, from: "monkey-credits") }

    private func run() async -> Int32 {
        if options.showsBalance {
            print(credits)
            return 0
        }
        if options.feeds { return feed() ? 0 : 1 }
        store.open()
        defer { store.close() }
        if let screen { return await show(on: screen) }
        // The pause gives StoreKit time to deliver unfinished purchases.
        let code = await loop.run(
            question: options.exitsWhenIdle ? nil : "Which, and how many (\"1\", \"2 x 3\")?",
            pause: options.exitsWhenIdle ? 0.5 : 0, isIdle: { hasPrices && !store.isBusy }, onEvent: handle,
            onLine: handle)
        return code ?? (hasFailed ? 1 : 0)
    }

    /// Shows the app in a browser, until the process is told to end.
    private func show(on screen: DeviceScreen) async -> Int32 {
        let events = Task {
            await loop.handleEvents { event in
                _ = handle(event)
                screen.changed()
            }
        }
        defer { events.cancel() }
        return await screen.run(self)
    }

    /// Tells the player something, in the terminal or on the page.
    func say(_ text: String, tone: DeviceScreen.Tone = .good) {
        if let screen { screen.say(text, tone: tone) } else { print(text) }
    }

    private func handle(_ event: MonkeyStore.Event) -> Next {
        switch event {
        case .pricesChanged:
            // The prices change again when the account's storefront changes.
            let isFirst = !hasPrices
            hasPrices = true
            guard isFirst || !options.exitsWhenIdle else { break }
            if let purchase = options.purchase { return buy(purchase.pack, quantity: purchase.quantity) }
            if screen != nil { break }
            if options.exitsWhenIdle { showBalance() } else { show() }
        case .credited(let credits):
            say("\(credits) credits bought.")
            showBalance()
        case .purchaseFailed(let text):
            hasFailed = true
            say(text, tone: .bad)
        case .purchaseCancelled:
            hasFailed = true
        case .promoted(let pack):
            say("You chose \(pack.credits) credits in the store.")
        case .continued(let country):
            say("You shop in the store of \(country) now; the price is that store's.", tone: .neutral)
        case .purchaseDeferred:
            say("Waiting for approval. The credits come when it is given.", tone: .neutral)
        case .queueChanged:
            break
        }
        return .goOn
    }

    // MARK: The screen

    var credits: Int { vault.balance(CreditPack.currency) }

    private func showBalance() {
        // The page shows it all the time.
        if screen != nil { return }
        print("Monkey credits: \(credits)")
    }

    private func show() {
        showBalance()
        let canMakePayments = SKPaymentQueue.canMakePayments()
        for (number, pack) in CreditPack.all.enumerated() {
            print("  \(number + 1)  [ \(store.button(for: pack, canMakePayments: canMakePayments)) ]")
        }
        print("  f  Feed a monkey, for 1 credit")
        print("  q  Quit")
    }

    private func handle(_ line: String) -> Next {
        let words = line.lowercased().split(whereSeparator: { $0 == " " || $0 == "x" })
        if words.first == "q" { return .end(0) }
        if words.first == "f" {
            feed()
            return .goOn
        }
        guard let first = words.first else {
            show()
            return .goOn
        }
        let quantity = words.count == 1 ? 1 : Int(words[1]) ?? 0
        guard words.count <= 2, let number = Int(first), CreditPack.all.indices.contains(number - 1),
            (1...10).contains(quantity)
        else {
            print("Type a button's number, and how many from 1 to 10, or f or q.")
            return .goOn
        }
        buy(CreditPack.all[number - 1], quantity: quantity)
        return .goOn
    }

    @discardableResult
    func buy(_ pack: CreditPack, quantity: Int) -> Next {
        let canMakePayments = SKPaymentQueue.canMakePayments()
        guard canMakePayments, let product = store.product(of: pack) else {
            say(store.button(for: pack, canMakePayments: canMakePayments), tone: .bad)
            return .end(1)
        }
        store.buy(product, quantity: quantity)
        return .goOn
    }

    /// Spends a credit. The key makes a retry idempotent, for example after a crash. Each meal has a new key.
    ///
    /// - Returns: Whether a credit was spent.
    @discardableResult
    func feed() -> Bool {
        do {
            try vault.spend(1, of: CreditPack.currency, key: "meal \(UUID().uuidString)")
            say("A monkey is fed.")
            showBalance()
            return true
        } catch {
            say(
                error.code == .insufficientBalance ? "There are no credits left." : error.localizedDescription,
                tone: .bad)
            return false
        }
    }
}
