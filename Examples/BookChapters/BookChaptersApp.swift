import DeviceScreen
import PhotoFilters
import SampleTerminal
import StoreKit

/// The app, in a terminal or on a page in a browser. Everything here runs on the main thread.
@MainActor
public final class BookChaptersApp {
    private let options: BookChaptersOptions
    let shelf: ContentShelf
    let store: BookStore
    private let loop = TerminalLoop<BookStore.Event>()
    private var output = TerminalOutput()
    private var hasPrices = false
    private var hasStarted = false
    private var hasFailed = false
    /// The page in a browser; nil in a terminal.
    private let screen: DeviceScreen?
    /// The downloads that the page shows.
    var downloads: [Chapter: BookStore.Download] = [:]
    /// The chapter that the page shows.
    var open: Chapter?

    private init(options: BookChaptersOptions, shelf: ContentShelf, screen: DeviceScreen?) {
        self.screen = screen
        self.options = options
        self.shelf = shelf
        store = BookStore(queue: .default(), shelf: shelf) { [loop] in loop.send($0) }
    }

    /// Runs the app to its end.
    ///
    /// - Returns: the exit code.
    public static func run(arguments: [String], environment: [String: String]) async -> Int32 {
        do {
            let (web, arguments) = try ScreenOptions.taken(from: arguments)
            let options = try BookChaptersOptions(arguments: arguments)
            if options.action == .help {
                print(BookChaptersOptions.help)
                return 0
            }
            // On Apple's systems, the bundle id comes from the app's bundle. Here the environment may set it, or else
            // the app itself.
            var configuration = StoreKitConfiguration(environment: environment, executable: Bundle.main.executableURL)
            configuration.bundleIdentifier = configuration.bundleIdentifier ?? "com.example.bookchapters"
            let screen = try await web?.open(
                named: "book-chapters", usualPort: 8433, &configuration, environment: environment)
            try StoreKitConfiguration.use(configuration)
            let shelf = try ContentShelf(
                folder: configuration.deviceFolder.appendingPathComponent("shelves/com.example.bookchapters"))
            return await BookChaptersApp(options: options, shelf: shelf, screen: screen).run()
        } catch let misuse as BookChaptersOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch let misuse as ScreenOptions.Misuse {
            complain(misuse.text)
            return 2
        } catch {
            complain((error as? ContentShelfError)?.detail ?? "\(error)")
            return 1
        }
    }

    private static func complain(_ text: String) { TerminalOutput.complain(text, from: "book-chapters") }

    private func run() async -> Int32 {
        switch options.action {
        case .read(let chapter): return read(chapter) ? 0 : 1
        case .ask, .buy, .download, .update, .list, .help: break
        }
        store.open()
        defer { store.close() }
        if let screen { return await show(on: screen) }
        let code = await loop.run(
            question: options.action == .ask ? "Which (a number buys or opens it)?" : nil,
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

    private func handle(_ event: BookStore.Event) -> Next {
        switch event {
        case .pricesChanged:
            hasPrices = true
            guard !hasStarted else { break }
            hasStarted = true
            switch options.action {
            case .buy(let chapter): return buy(chapter)
            case .update: store.restore()
            case .list:
                list()
                return .end(0)
            case .ask, .download, .read, .help: if options.action == .ask, screen == nil { show() }
            }
        case .downloading(let chapter, let download): return tell(chapter, download)
        case .ready(let chapter, let version):
            downloads[chapter] = nil
            say("\(chapter.name) is yours, in version \(version).")
        case .restored: if options.action == .ask { say("Earlier purchases are here, or are being downloaded.") }
        case .failed(let text):
            hasFailed = true
            say(text, tone: .bad)
        case .cancelled: hasFailed = true
        case .deferred: say("Waiting for approval. The chapter arrives once the purchase is approved.", tone: .neutral)
        case .queueChanged: break
        }
        return .goOn
    }

    // MARK: The screen

    private func list() {
        for chapter in Chapter.allCases {
            let title = store.product(of: chapter)?.localizedTitle ?? chapter.name
            print("\(chapter.rawValue)  \(title)  \(store.label(of: chapter))")
        }
    }

    private func show() {
        list()
        print("  u  Get new content, and restore earlier purchases")
        print("  q  Quit")
    }

    private func say(_ text: String, tone: DeviceScreen.Tone = .good) {
        if let screen { screen.say(text, tone: tone) } else { output.say(text) }
    }

    private func tell(_ chapter: Chapter, _ download: BookStore.Download) -> Next {
        downloads[chapter] = download
        if screen != nil { return .goOn }
        let line = output.isTerminal ? DownloadLine.bar(chapter, download) : DownloadLine.words(chapter, download)
        output.show(line, of: chapter.productIdentifier)
        if let stop = options.stop, download.state == .active, Int(download.progress * 100) >= stop.percent {
            switch stop.what {
            case .pause: store.pause()
            case .crash: TerminalOutput.crash()
            }
        }
        return .goOn
    }

    private func handle(_ line: String) -> Next {
        let word = line.trimmingCharacters(in: .whitespaces).lowercased()
        if word == "q" { return .end(0) }
        if word == "u" {
            update()
            return .goOn
        }
        guard let chapter = Int(word).flatMap(Chapter.init(rawValue:)) else {
            show()
            return .goOn
        }
        if shelf.newest(of: chapter.productIdentifier) == nil {
            buy(chapter)
        } else {
            _ = read(chapter)
        }
        return .goOn
    }

    /// Gets new versions, earlier purchases, and the list of chapters that are out.
    func update() {
        store.loadPrices()
        store.restore()
    }

    @discardableResult
    func buy(_ chapter: Chapter) -> Next {
        if shelf.newest(of: chapter.productIdentifier) != nil {
            say("\(chapter.name) is yours already.")
            return .end(0)
        }
        guard SKPaymentQueue.canMakePayments(), let product = store.product(of: chapter) else {
            say(SKPaymentQueue.canMakePayments() ? store.label(of: chapter) : "AppStore disabled", tone: .bad)
            return .end(1)
        }
        guard product.isDownloadable else {
            // The next press or line sees what came since.
            store.loadPrices()
            say("\(chapter.name) is not out yet.", tone: .bad)
            return .end(1)
        }
        store.buy(product)
        return .goOn
    }

    // MARK: Reading

    private func read(_ chapter: Chapter) -> Bool {
        guard let item = shelf.newest(of: chapter.productIdentifier) else {
            print("\(chapter.name) is not here. (--buy \(chapter.rawValue), or --update)")
            return false
        }
        do {
            let content = try ChapterText(item)
            if output.isTerminal, let picture = try? Picture(png: Data(contentsOf: content.picture)) {
                print(TerminalPicture.text(picture, width: 72))
            }
            print(content.text, terminator: "")
            return true
        } catch {
            print("\(chapter.name) cannot be read: \(error.localizedDescription)")
            return false
        }
    }
}
