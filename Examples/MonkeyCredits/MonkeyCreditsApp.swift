import StoreKit

/// The app in a terminal: the balance, two buttons, and a prompt. Everything here runs on the main thread.
@MainActor
public final class MonkeyCreditsApp {
    private enum Input: Sendable {
        case store(MonkeyStore.Event)
        case typed(String?)
        /// Nothing happened since the count stood here.
        case quiet(Int)
    }

    private let options: MonkeyCreditsOptions
    private let balance: CreditBalance
    private let store: MonkeyStore
    private let inputs: AsyncStream<Input>
    private let send: AsyncStream<Input>.Continuation
    private var eventCount = 0
    private var hasPrices = false
    private var isPrompting = false
    private var hasFailed = false

    private init(options: MonkeyCreditsOptions, folder: URL) throws {
        self.options = options
        balance = try CreditBalance(folder: folder)
        let (inputs, send) = AsyncStream.makeStream(of: Input.self)
        self.inputs = inputs
        self.send = send
        store = MonkeyStore(queue: .default(), balance: balance) { send.yield(.store($0)) }
        if options.crashesAfterPurchased {
            store.beforeGrant = {
                print("(crashes here, before the credits are granted)")
                fflush(nil)
                _exit(9)
            }
        }
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let options = try MonkeyCreditsOptions(arguments: arguments)
            if options.showsHelp {
                print(MonkeyCreditsOptions.help)
                return 0
            }
            // On Apple's systems the bundle says which app this is. Here it may be said in the environment, and has
            // to be said somewhere.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.monkeys"
            try StoreKitConfiguration.use(configuration)
            return try await MonkeyCreditsApp(options: options, folder: folder(environment)).run()
        } catch let misuse as MonkeyCreditsOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch {
            complain("\(error)")
            return 1
        }
    }

    private static func folder(_ environment: [String: String]) -> URL {
        if let path = environment["MONKEY_CREDITS_FOLDER"], !path.isEmpty {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        let home = environment["HOME"] ?? NSHomeDirectory()
        let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home + "/.local/share"
        return URL(fileURLWithPath: data, isDirectory: true).appendingPathComponent("monkey-credits", isDirectory: true)
    }

    private static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("monkey-credits: \(text)\n".utf8))
    }

    private func run() async -> Int32 {
        if options.showsBalance {
            print(balance.credits)
            return 0
        }
        store.open()
        defer { store.close() }
        for await input in inputs {
            switch input {
            case .store(let event):
                eventCount += 1
                if handle(event) == .end { return 1 }
            case .typed(let line):
                isPrompting = false
                if line == nil { print() }
                guard let line, handle(line) == .goOn else { return 0 }
            case .quiet(let count):
                if count == eventCount, !store.isBusy { return hasFailed ? 1 : 0 }
            }
            whenIdle()
        }
        return 0
    }

    private enum Next {
        case goOn
        case end
    }

    private func handle(_ event: MonkeyStore.Event) -> Next {
        switch event {
        case .pricesChanged:
            hasPrices = true
            if let purchase = options.purchase { return buy(purchase.pack, quantity: purchase.quantity) }
            if options.exitsWhenIdle { showBalance() } else { show() }
        case .credited(let credits):
            print("\(credits) credits bought.")
            showBalance()
        case .purchaseFailed(let text):
            hasFailed = true
            print(text)
        case .purchaseCancelled:
            hasFailed = true
        case .purchaseDeferred:
            print("Waiting for approval. The credits come when it is given.")
        case .queueChanged:
            break
        }
        return .goOn
    }

    // MARK: The screen

    private func showBalance() { print("Monkey credits: \(balance.credits)") }

    private func show() {
        showBalance()
        let canMakePayments = SKPaymentQueue.canMakePayments()
        for (number, pack) in CreditPack.all.enumerated() {
            print("  \(number + 1)  [ \(store.button(for: pack, canMakePayments: canMakePayments)) ]")
        }
        print("  q  Quit")
    }

    /// The next question, once nothing is under way: the payment sheet uses the same terminal.
    private func whenIdle() {
        guard hasPrices, !store.isBusy else { return }
        if options.exitsWhenIdle {
            let count = eventCount
            let send = send
            DispatchQueue.main.asyncAfter(deadline: .now() + 0.5) { send.yield(.quiet(count)) }
        } else if !isPrompting {
            isPrompting = true
            print("Which, and how many (\"1\", \"2 x 3\")? ", terminator: "")
            fflush(nil)
            let send = send
            Thread { send.yield(.typed(readLine())) }.start()
        }
    }

    private func handle(_ line: String) -> Next {
        let words = line.lowercased().split(whereSeparator: { $0 == " " || $0 == "x" })
        if words.first == "q" { return .end }
        guard let first = words.first else {
            show()
            return .goOn
        }
        let quantity = words.count == 1 ? 1 : Int(words[1]) ?? 0
        guard words.count <= 2, let number = Int(first), CreditPack.all.indices.contains(number - 1),
            (1...10).contains(quantity)
        else {
            print("Type a button's number, and how many from 1 to 10, or q.")
            return .goOn
        }
        _ = buy(CreditPack.all[number - 1], quantity: quantity)
        return .goOn
    }

    private func buy(_ pack: CreditPack, quantity: Int) -> Next {
        let canMakePayments = SKPaymentQueue.canMakePayments()
        guard canMakePayments, let product = store.product(of: pack) else {
            print(store.button(for: pack, canMakePayments: canMakePayments))
            return .end
        }
        store.buy(product, quantity: quantity)
        return .goOn
    }
}
