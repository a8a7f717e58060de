import ConsolePages
import ControlWire
public import Foundation
import HTTPSupport
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
public import StoreKit
import StoreWire
import Synchronization

/// The screen of a device with one app, as a page for browsers on this machine.
///
/// StoreKit runs in the app's process, as ever. A pressed button calls the app on the main thread. The payment sheet
/// is the store's page: the screen leads there, and the sheet leads back.
///
/// ```swift
/// var configuration = StoreKitConfiguration(environment: environment, executable: nil)
/// let screen = try await DeviceScreen.open(
///     named: "my-app", usualPort: 8440, &configuration, environment: environment)
/// try StoreKitConfiguration.use(configuration)
/// // The app adds its own observer to the queue, and then:
/// return await screen.run(app)
/// ```
@MainActor
public final class DeviceScreen {
    /// The largest number of lines about what happened.
    private static let mostLines = 60
    /// How long the answer to a form waits for what follows.
    private static let patience = Duration.seconds(5)
    /// How long a planned crash waits for the browser's request, and then for the answer to be sent, in seconds.
    private nonisolated static let (lastRequest, lastAnswer) = (2.0, 0.3)

    /// The mood of something that the app says.
    public enum Tone: String, Sendable {
        /// Something succeeded.
        case good
        /// Something is so, or is still going on.
        case neutral
        /// Something failed.
        case bad
    }

    /// A line about what happened on the device.
    struct Line: Sendable {
        var time: Date
        var text: String
        /// Whether the app said it, and not the queue.
        var isOfApp: Bool
    }

    /// A question of the system to the customer.
    struct Question {
        var id: UUID
        var heading: String
        var text: String?
        var choices: [(value: String, label: String)]
        var continuation: CheckedContinuation<String, Never>
    }

    /// The address of the page.
    public nonisolated let address: URL
    let device: ScreenDevice
    let changes = ScreenChanges()
    private let server: Task<Void, any Error>
    /// Gets the screen when the app is shown; nil when it has it.
    private var holder: ScreenHolder?
    private let adminToken: String?
    private nonisolated let crash = Mutex(CrashPlan())
    private nonisolated let crashShown = DispatchSemaphore(value: 0)
    private(set) var app: (any ScreenApp)?
    private(set) var lines: [Line] = []
    /// Why no payment sheet can be shown; nil when it can.
    private(set) var problem: String?
    /// The app's messages since the last button.
    private(set) var said: [(text: String, tone: Tone)] = []
    /// The page of the store that waits for the customer.
    private(set) var page: URL?
    /// Whether ``page`` is an item's page, and not a question.
    private(set) var isItemPage = false
    /// The number of pages that were opened.
    private(set) var pagesOpened = 0
    /// The page that the browser was led to last.
    private var lastLed: URL?
    private(set) var question: Question?
    /// Whether a restore is in progress.
    private var isRestoring = false

    init(address: URL, device: ScreenDevice, server: Task<Void, any Error>, adminToken: String?) {
        (self.address, self.device, self.server, self.adminToken) = (address, device, server, adminToken)
    }

    // MARK: The app's side

    /// Opens the port, and lets the configuration show payment sheets and the store's pages in the browser. With
    /// `CORNERSTORE_SHEET` `approve` or `decline` there is no sheet, as without a screen.
    ///
    /// - Parameters:
    ///   - name: the first part of the page's host name, such as `monkey-credits`.
    ///   - port: the port; nil for `usualPort`, or any that is free when that one is taken.
    ///   - usualPort: the port that the app has if nobody else does.
    ///   - configuration: the configuration that the app will pass to ``StoreKitConfiguration/use(_:)``.
    ///   - environment: the variables that the configuration was read from.
    /// - Throws: ``PortTaken``, or the system's error when the port cannot be opened.
    public static func open(
        named name: String, port: Int? = nil, usualPort: Int, _ configuration: inout StoreKitConfiguration,
        environment: [String: String]
    ) async throws -> DeviceScreen {
        let operation = OperatorAddresses(environment: environment)
        let device = ScreenDevice(name: name, configuration, operation)
        let holder = ScreenHolder()
        let (task, actual): (Task<Void, any Error>, Int)
        do {
            (task, actual) = try await ScreenServer.start(holder, device, port: port ?? usualPort)
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            if let port { throw PortTaken(port: port) }
            (task, actual) = try await ScreenServer.start(holder, device, port: 0)
        }
        guard let address = URL(string: "http://\(name).localhost:\(actual)") else {
            throw CocoaError(.coderInvalidValue)
        }
        let screen = DeviceScreen(address: address, device: device, server: task, adminToken: operation.adminToken)
        screen.prepare(&configuration, operation, environment["CORNERSTORE_SHEET"]?.lowercased())
        screen.holder = holder
        return screen
    }

    private static func print(_ line: String) {
        Swift.print(line)
        // The output may be a file or a pipe.
        fflush(nil)
    }

    private func prepare(
        _ configuration: inout StoreKitConfiguration, _ operation: OperatorAddresses, _ sheet: String?
    ) {
        let back = address.appendingPathComponent("back")
        if sheet != "approve", sheet != "decline" {
            configuration.presenter = ScreenPresenter(screen: self, returnAddress: back)
            if let control = operation.control {
                var web = WebPaymentSheet(
                    control: control, adminToken: operation.adminToken,
                    say: { line in
                        let sentence = line.prefix(1).uppercased() + line.dropFirst()
                        Task { @MainActor in self.say(sentence, tone: .bad) }
                    },
                    show: { page in Task { @MainActor in self.open(page) } })
                web.environment = configuration.environment
                web.app = configuration.bundleIdentifier
                web.returnAddress = back
                configuration.sheet = ScreenSheet(web: web, screen: self)
            } else {
                problem =
                    "No control port is known, so no payment sheet can be shown. Set CORNERSTORE_DATA to a running "
                    + "store's data directory, or CORNERSTORE_CONTROL to its control port."
                Self.print(problem ?? "")
            }
        }
        configuration.beforeGrant = { [weak self] in self?.crashIfPlanned() }
    }

    /// Shows the app until the process is told to end (SIGINT or SIGTERM).
    ///
    /// Call it after the app has added its own observer to the queue, because StoreKit delivers unfinished purchases to
    /// the first.
    ///
    /// - Returns: the exit code.
    public func run(_ app: any ScreenApp) async -> Int32 {
        self.app = app
        // Not before: a page asks StoreKit for its queue, and the app must have configured StoreKit by then.
        holder?.hold(self)
        holder = nil
        Self.print("\(device.name) is at \(address.absoluteString)  (Ctrl-C ends it)")
        let observer = ScreenObserver(
            tell: { [weak self] in self?.note($0, isOfApp: false) },
            restored: { [weak self] in self?.isRestoring = false })
        SKPaymentQueue.default().add(observer)
        defer { SKPaymentQueue.default().remove(observer) }
        changes.record()
        let announcer = ScreenAnnouncer(
            control: device.control, adminToken: adminToken,
            screen: { [self] in
                ControlAPI.Screen(
                    bundleId: device.bundleIdentifier, name: self.app?.name ?? device.name,
                    address: address.absoluteString, device: device.folder.path, environment: device.environment.name)
            })
        let announcing = Task.detached { await announcer.run() }
        let news = ScreenNews(
            control: device.control, adminToken: adminToken, environment: device.environment.name)
        let following = Task.detached { await news.run { SKPaymentQueue.default().checkNotices() } }
        defer {
            announcing.cancel()
            following.cancel()
        }
        do {
            try await server.value
            announcing.cancel()
            await announcer.end()
            return 0
        } catch {
            say("The page's server ended: \(error)", tone: .bad)
            return 1
        }
    }

    /// Tells the customer something, such as "5 credits bought.", on the page and on standard output.
    public func say(_ text: String, tone: Tone = .good) {
        Self.print(text)
        said = said.suffix(4) + [(text, tone)]
        note(text, isOfApp: true)
    }

    /// Says that the app shows something else now.
    public func changed() { changes.record() }

    private func note(_ text: String, isOfApp: Bool) {
        lines.append(Line(time: Date(), text: text, isOfApp: isOfApp))
        if lines.count > Self.mostLines { lines.removeFirst(lines.count - Self.mostLines) }
        changes.record()
    }

    // MARK: The store's pages

    func open(_ page: URL, isItem: Bool = false) {
        (self.page, isItemPage) = (page, isItem)
        pagesOpened += 1
        changes.record()
    }

    func close() {
        page = nil
        changes.record()
    }

    /// Asks the customer on the screen itself.
    /// - Returns: the value of the chosen answer.
    func ask(_ heading: String, _ text: String?, _ choices: [(String, String)]) async -> String {
        await withCheckedContinuation { continuation in
            // StoreKit asks one question at a time.
            question?.continuation.resume(returning: "")
            question = Question(
                id: UUID(), heading: heading, text: text, choices: choices.map { (value: $0.0, label: $0.1) },
                continuation: continuation)
            changes.record()
        }
    }

    func answer(_ id: String?, _ value: String) {
        guard let asked = question, asked.id.uuidString == id, asked.choices.contains(where: { $0.value == value })
        else { return }
        question = nil
        asked.continuation.resume(returning: value)
        changes.record()
    }

    // MARK: The browser's side

    /// Does what a button says.
    func press(_ press: ScreenPress) {
        said = []
        app?.press(press)
        changes.record()
    }

    func restore() {
        said = []
        isRestoring = true
        app?.restore()
        changes.record()
    }

    /// The address that the browser should open next.
    struct Next: Sendable {
        /// The screen itself.
        static let screen = Next(address: "/", isOfAnotherPort: false)

        var address: String
        /// Whether this is a page of another of the store's ports than the page that the browser was led to before.
        var isOfAnotherPort: Bool
    }

    func picture(_ name: String) -> [UInt8]? { app?.picture(name) }

    /// The address of the page that waits for the customer, to which the browser is led now; else the screen's.
    func leadToPage() -> String {
        guard let page else { return Next.screen.address }
        lastLed = page
        return page.absoluteString
    }

    /// Waits until a page of the store waits for the customer, or the app waits for nothing, but not for long.
    /// - Parameter opened: the number of pages that were opened before a button was pressed; nil when the browser comes
    ///   back from the page that it was led to last.
    func next(since opened: Int?) async -> Next {
        let clock = ContinuousClock()
        let end = clock.now + Self.patience
        repeat {
            let count = changes.count
            if isCrashing { return .screen }
            // A page that waited before stays a link: the button had nothing to do with it.
            if page != nil, opened == pagesOpened { return .screen }
            if let page, opened != nil || page != lastLed {
                defer { lastLed = page }
                let isSame = page.host == lastLed?.host && page.port == lastLed?.port
                return Next(address: page.absoluteString, isOfAnotherPort: !isSame)
            }
            if question != nil { return .screen }
            if page == nil, !isRestoring, await app?.isBusy != true { return .screen }
            await changes.wait(since: count, upTo: .milliseconds(200))
        } while clock.now < end && !Task.isCancelled
        return .screen
    }

    // MARK: Crashing

    /// When the process ends as if it were killed.
    struct CrashPlan {
        /// Whether the next purchase ends the process, after it was paid and before the app is told.
        var isArmed = false
        /// Whether the process is about to end.
        var isCrashing = false
    }

    var isCrashPlanned: Bool { crash.withLock { $0.isArmed } }
    nonisolated var isCrashing: Bool { crash.withLock { $0.isCrashing } }

    func planCrash(_ isArmed: Bool) {
        crash.withLock { $0 = CrashPlan(isArmed: isArmed) }
        changes.record()
    }

    /// Ends the process if that is planned, after the customer's browser was told. The queue waits here.
    private nonisolated func crashIfPlanned() {
        let ends = crash.withLock { plan in
            plan.isCrashing = plan.isArmed
            return plan.isCrashing
        }
        guard ends else { return }
        changes.record()
        if crashShown.wait(timeout: .now() + Self.lastRequest) == .success {
            Thread.sleep(forTimeInterval: Self.lastAnswer)
        }
        Self.crash()
    }

    /// Says that the page about the crash was sent.
    nonisolated func showedCrash() { crashShown.signal() }

    /// Ends the process as if it were killed, with exit code 9. Unlike `exit()`, this runs no cleanup.
    nonisolated static func crash() -> Never {
        fflush(nil)
        _exit(9)
    }
}

/// Another program has the port that was asked for.
public struct PortTaken: LocalizedError, CustomStringConvertible, Equatable {
    /// The port.
    public var port: Int
    /// The message for standard error.
    public var description: String { "Port \(port) is taken. Choose another with --port." }
    /// ``description``.
    public var errorDescription: String? { description }
}

/// The device that a screen belongs to.
struct ScreenDevice: Sendable {
    var name: String
    var folder: URL
    var bundleIdentifier: String
    var environment: StoreEnvironment
    var console: URL?
    var control: URL?
    var storefront: URL?
    var roots: [URL]

    init(name: String, _ configuration: StoreKitConfiguration, _ operation: OperatorAddresses) {
        self.name = name
        folder = configuration.deviceFolder
        bundleIdentifier = configuration.bundleIdentifier ?? ""
        environment = configuration.environment
        (console, control) = (operation.console, operation.control)
        storefront = configuration.storefront
        roots = configuration.roots
    }

    /// The origins of the store's pages, to which the screen leads.
    var origins: [String] {
        Array(
            Set(
                [control, storefront].compactMap { url in
                    guard let url, let scheme = url.scheme, let host = url.host else { return nil }
                    return "\(scheme)://\(host)" + (url.port.map { ":\($0)" } ?? "")
                }))
    }
}
