import DeviceScreen
import SampleTerminal
import StoreKit

/// The app, in a terminal or on a page in a browser. Everything here runs on the main thread.
@MainActor
public final class CrossPromotionApp {
    private enum Event: Sendable {
        /// Something that the user wanted is done.
        case done
        case failed(String)
    }

    private let options: CrossPromotionOptions
    private let search: ItemSearch
    private let pages = ItemPages()
    private let loop = TerminalLoop<Event>()
    /// Whether the app shows a page, or finds items.
    public private(set) var isBusy = false
    private var hasFailed = false
    /// The page in a browser; nil in a terminal.
    private let screen: DeviceScreen?
    /// The items found last, for the page.
    private(set) var found: [FoundItem] = []

    private init(options: CrossPromotionOptions, search: ItemSearch, screen: DeviceScreen?) {
        self.screen = screen
        self.options = options
        self.search = search
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let (web, arguments) = try ScreenOptions.taken(from: arguments)
            let options = try CrossPromotionOptions(arguments: arguments)
            if options.action == .help {
                print(CrossPromotionOptions.help)
                return 0
            }
            // On Apple's systems, the bundle id comes from the app's bundle. Here the environment may set it, or else
            // the app itself.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.crosspromotion"
            guard let storefront = configuration.storefront else {
                complain("no storefront is known; set CORNERSTORE_DATA, or CORNERSTORE_STOREFRONT to its URL")
                return 1
            }
            let screen = try await web?.open(
                named: "cross-promotion", usualPort: 8435, &configuration, environment: environment)
            try StoreKitConfiguration.use(configuration)
            return await CrossPromotionApp(
                options: options, search: ItemSearch(base: storefront), screen: screen
            ).run()
        } catch let misuse as CrossPromotionOptions.Misuse {
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

    private static func complain(_ text: String) { TerminalOutput.complain(text, from: "cross-promotion") }

    private func run() async -> Int32 {
        if let screen { return await show(on: screen) }
        begin { [self] in
            switch options.action {
            case .ask, .help: menu()
            case .app: try await show(.otherApp)
            case .film: try await show(.film)
            case .playlist: try await showPlaylist()
            case .show(let number): try await show(number)
            case .find(let words): list(try await search.items(matching: words))
            case .lookUp(let number): list([try await search.item(number)])
            }
        }
        let code = await loop.run(
            question: options.action == .ask ? "Which (a number, a link, or words to search for)?" : nil,
            isIdle: { !isBusy }, onEvent: handle, onLine: handle)
        return code ?? (hasFailed ? 1 : 0)
    }

    /// Does one thing at a time.
    func begin(_ work: @escaping @MainActor () async throws -> Void) {
        isBusy = true
        Task {
            do { try await work() } catch {
                loop.send(.failed((error as? ItemSearch.Failure)?.text ?? error.localizedDescription))
            }
            isBusy = false
            loop.send(.done)
        }
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

    private func handle(_ event: Event) -> Next {
        if case .failed(let text) = event {
            hasFailed = true
            say(text, tone: .bad)
        }
        return .goOn
    }

    // MARK: Pages

    func show(_ promotion: Promotion) async throws {
        let number = try await promotion.number(search)
        say("\(promotion.name) is item \(number).")
        try await show(number)
    }

    func showPlaylist() async throws {
        for song in Promotion.playlist { try await show(song) }
    }

    /// Shows an item's page, from which the user returns to the app. Systems before iOS 6 have no such pages: there
    /// the app opens the item's link, and the user leaves the app.
    private func show(_ number: Int64) async throws {
        if options.opensLinks {
            // With UIKit: UIApplication.shared.open(link).
            say("Open \(try await search.item(number).link)")
        } else {
            try await pages.show(number)
            say("Back in Cross Promotion.")
        }
    }

    // MARK: The screen

    private func menu() {
        say("  1  \(Promotion.otherApp.name), our other app")
        say("  2  \(Promotion.film.name), a film")
        say("  3  The playlist: \(Promotion.playlist.map(\.name).joined(separator: ", "))")
        say("  q  Quit")
    }

    private func list(_ items: [FoundItem]) {
        found = items
        if screen != nil, !items.isEmpty { return }
        for item in items { say(item.description) }
        if items.isEmpty { say("The store has nothing like that.", tone: .neutral) }
    }

    @discardableResult
    func handle(_ line: String) -> Next {
        let line = line.trimmingCharacters(in: .whitespaces)
        switch line {
        case "q": return .end(0)
        case "": menu()
        case "1": begin { [self] in try await show(.otherApp) }
        case "2": begin { [self] in try await show(.film) }
        case "3": begin { [self] in try await showPlaylist() }
        default: find(line)
        }
        return .goOn
    }

    /// Finds items by words, or shows the item of a number or a link.
    func find(_ words: String) {
        let words = words.trimmingCharacters(in: .whitespaces)
        begin { [self] in
            if let number = Int64(words) ?? ItemSearch.number(inLink: words) {
                try await show(number)
            } else {
                list(try await search.items(matching: words))
            }
        }
    }

    /// Prints a line without control characters, which could move the terminal's cursor, because names come from
    /// the store. StoreKit writes its pages between the lines.
    func say(_ text: String, tone: DeviceScreen.Tone = .good) {
        if let screen { return screen.say(text, tone: tone) }
        print(
            String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control })))
        fflush(nil)
    }
}
