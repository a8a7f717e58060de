import DeviceScreen
import PurchaseVault
import SampleTerminal
import StoreKit

/// The app, in a terminal or on a page in a browser. Everything here runs on the main thread.
@MainActor
public final class PhotoFiltersApp {
    private let options: PhotoFiltersOptions
    let vault: PurchaseVault
    let store: PhotoStore
    private let loop = TerminalLoop<PhotoStore.Event>()
    private var hasPrices = false
    private var hasStarted = false
    private var hasFailed = false
    /// The page in a browser; nil in a terminal.
    private let screen: DeviceScreen?
    /// The filter whose picture the page shows.
    var chosen: PhotoFilter?
    /// The pictures that were made for the page, by name.
    var made: [String: [UInt8]] = [:]

    private init(options: PhotoFiltersOptions, vault: PurchaseVault, screen: DeviceScreen?) {
        self.screen = screen
        self.options = options
        self.vault = vault
        store = PhotoStore(queue: .default(), vault: vault) { [loop] in loop.send($0) }
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let (web, arguments) = try ScreenOptions.taken(from: arguments)
            let options = try PhotoFiltersOptions(arguments: arguments)
            if options.action == .help {
                print(PhotoFiltersOptions.help)
                return 0
            }
            // On Apple's systems, the bundle id comes from the app's bundle. Here the environment may set it, or else
            // the app itself.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.photofilters"
            let screen = try await web?.open(
                named: "photo-filters", usualPort: 8432, &configuration, environment: environment)
            try StoreKitConfiguration.use(configuration)
            let vault = try await PurchaseVault(
                VaultConfiguration(storeKit: .current, grants: PhotoFilter.grants, now: { Date() }))
            for line in await repair(vault) { complain(line) }
            return await PhotoFiltersApp(options: options, vault: vault, screen: screen).run()
        } catch let misuse as PhotoFiltersOptions.Misuse {
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

    /// Returns what was wrong with the vault, and records the purchases in this device's receipt again. A damaged file
    /// loses no purchase, and an edited file unlocks nothing.
    static func repair(_ vault: PurchaseVault) async -> [String] {
        guard !vault.report.isClean else { return [] }
        var lines = vault.report.incidents.map(\.description)
        do {
            for case .unlocked(let identifier) in try await vault.recordReceipt() {
                lines.append("By the receipt, \(PhotoFilter.named(identifier)?.rawValue ?? identifier) is yours again.")
            }
        } catch {
            lines.append("There is no usable receipt; --restore asks the store. (\(error.localizedDescription))")
        }
        return lines
    }

    private static func complain(_ text: String) { TerminalOutput.complain(text, from: "photo-filters") }

    private func run() async -> Int32 {
        switch options.action {
        case .list:
            list()
            return 0
        case .apply(let filter):
            return apply(filter, input: options.input, output: options.output ?? "filtered.png") ? 0 : 1
        case .ask, .buy, .restore, .help:
            break
        }
        store.open()
        defer { store.close() }
        if let screen { return await show(on: screen) }
        let code = await loop.run(
            question: options.action == .ask ? "Which (a number buys or applies it)?" : nil,
            isIdle: { hasPrices && !store.isBusy }, onEvent: handle, onLine: handle)
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
        return await screen.run(self)
    }

    /// Tells the customer something, in the terminal or on the page.
    private func say(_ text: String, tone: DeviceScreen.Tone = .good) {
        if let screen { screen.say(text, tone: tone) } else { print(text) }
    }

    private func handle(_ event: PhotoStore.Event) -> Next {
        switch event {
        case .pricesChanged:
            hasPrices = true
            switch options.action {
            case .buy(let filter) where !hasStarted:
                hasStarted = true
                return buy(filter)
            case .restore where !hasStarted:
                hasStarted = true
                store.restore()
            default: if screen == nil { show() }
            }
        case .unlocked(let filter): say("The filter \(filter.rawValue) is yours.")
        case .revoked(let filter):
            say("The filter \(filter.rawValue) was refunded, and is not yours any more.", tone: .bad)
        case .restored: say("Everything bought before is here.")
        case .failed(let text):
            hasFailed = true
            say(text, tone: .bad)
        case .cancelled: hasFailed = true
        case .deferred: say("Waiting for approval. The filter arrives once the purchase is approved.", tone: .neutral)
        case .queueChanged: break
        }
        return .goOn
    }

    // MARK: The screen

    private func list() {
        for filter in PhotoFilter.allCases {
            print("\(filter.rawValue)  \(vault.isUnlocked(filter.productIdentifier) ? "yours" : "not bought")")
        }
    }

    private func show() {
        for (number, filter) in PhotoFilter.allCases.enumerated() {
            print("  \(number + 1)  \(filter.rawValue)  [ \(store.label(of: filter)) ]")
        }
        print("  r  Restore purchases")
        print("  q  Quit")
    }

    private func handle(_ line: String) -> Next {
        let word = line.trimmingCharacters(in: .whitespaces).lowercased()
        if word == "q" { return .end(0) }
        if word == "r" {
            store.restore()
            return .goOn
        }
        guard let number = Int(word), PhotoFilter.allCases.indices.contains(number - 1) else {
            show()
            return .goOn
        }
        let filter = PhotoFilter.allCases[number - 1]
        if vault.isUnlocked(filter.productIdentifier) {
            _ = apply(filter, input: nil, output: "\(filter.rawValue).png")
        } else {
            buy(filter)
        }
        return .goOn
    }

    @discardableResult
    func buy(_ filter: PhotoFilter) -> Next {
        // The store would deliver the filter again for free after a payment sheet, which is useless on this device.
        guard !vault.isUnlocked(filter.productIdentifier) else {
            say("The filter \(filter.rawValue) is yours already; nothing was bought.")
            return .goOn
        }
        guard SKPaymentQueue.canMakePayments(), let product = store.product(of: filter) else {
            say(SKPaymentQueue.canMakePayments() ? store.label(of: filter) : "AppStore disabled", tone: .bad)
            return .end(1)
        }
        store.buy(product)
        return .goOn
    }

    // MARK: Filtering

    /// Filters a picture, if the filter was bought.
    private func apply(_ filter: PhotoFilter, input: String?, output: String) -> Bool {
        guard vault.isUnlocked(filter.productIdentifier) else {
            print("The filter \(filter.rawValue) is not bought. (--buy \(filter.rawValue), or --restore)")
            return false
        }
        do {
            let picture = try input.map { try Picture(png: read($0)) } ?? .sample()
            try write(filter.apply(to: picture).png(), to: output)
            print("\(output): \(picture.width) x \(picture.height), in \(filter.rawValue)")
            return true
        } catch {
            print(error.localizedDescription)
            return false
        }
    }

    private func read(_ path: String) throws -> Data {
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw PictureError("\(path) cannot be read. \(error.localizedDescription)")
        }
    }

    private func write(_ png: Data, to path: String) throws {
        do { try png.write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw PictureError("\(path) cannot be written. \(error.localizedDescription)")
        }
    }
}
