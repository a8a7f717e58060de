import ControlWire
import CornerstoreEncoding
import Foundation
import Logging
import ServiceLifecycle
import Store
import StoreServer
import Synchronization
import UnixSignals

/// The demonstration: a store and a merchant in this process, and the sample apps in other processes.
struct Demo: Sendable {
    var places: DemoPlaces
    /// The samples that the steps show.
    var samples = DemoSample.allCases
    var isOnce: Bool
    /// Whether the apps run on pages in a browser, instead of the steps.
    var showsPages = false
    var json: Bool

    /// The JSON document that `--json` prints.
    struct Report: Encodable {
        var passed: Bool
        var problem: String?
        var steps: [DemoTeller.Step]
        /// The apps' pages; nil without `--web`.
        var pages: [ControlAPI.Screen]?
        /// The console's address; nil without `--web`.
        var console: String?
    }

    /// Runs all steps.
    /// - Returns: whether every step passed.
    func run() async throws -> Bool {
        let console = Console.current
        let teller = DemoTeller(console, isSilent: json)
        teller.say(
            console.style.bold(
                showsPages
                    ? "Cornerstore: six sample apps, each on a page in a browser"
                    : "Cornerstore: buying credits, filters, chapters, issues, songs and a subscription from a store on this machine"
            ))
        teller.begin("The store and the merchant start")
        teller.explain(
            "The store has two environments, sandbox and production, each with its own keys under a new root. The merchant is the app's own server:"
        )
        let files = places.catalogs.map { URL(fileURLWithPath: $0.path).lastPathComponent }.joined(separator: " ")
        let products = places.merchantProducts.map {
            "--merchant-products \($0.deletingLastPathComponent().lastPathComponent)/\($0.lastPathComponent)"
        }.joined(separator: " ")
        teller.show("cornerstore serve \(files) \(products) --data \(places.data.path)")
        let application = try await Progress.during("Creating keys") { try await open() }
        let (ready, isReady) = AsyncStream.makeStream(of: Addresses.self)
        let serving = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: StoreService(application: application, hasConsole: showsPages) { isReady.yield($0) })
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: ServeAction.logger(.error)))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { isReady.finish() }
                try await serving.run()
            }
            var problem = try await follow(ready, teller, &group)
            if let problem { console.complain(problem) }
            // With pages, the JSON document contains their addresses.
            if problem != nil || !(json && showsPages) { try report(console, teller, problem) }
            if isOnce || problem != nil {
                await serving.triggerGracefulShutdown()
            } else {
                if showsPages {
                    problem = try await showPages(teller, console, &group)
                    await serving.triggerGracefulShutdown()
                } else {
                    stayUp(teller, console)
                }
            }
            try await group.waitForAll()
            return problem == nil
        }
    }

    /// Runs the steps once the store answers.
    /// - Returns: the first failure, or nil.
    private func follow(
        _ ready: AsyncStream<Addresses>, _ teller: DemoTeller, _ group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws -> String? {
        var addresses = ready.makeAsyncIterator()
        guard let addresses = await addresses.next() else {
            try await group.waitForAll()
            throw CommandError(.failed, "The store stopped before it answered.")
        }
        do {
            let steps = try DemoSteps(places: places, addresses: addresses, teller: teller)
            if showsPages { try await steps.prepareForPages() } else { try await steps.run(samples) }
            return nil
        } catch {
            return CommandError(known: error)?.detail ?? error.localizedDescription
        }
    }

    private func open() async throws -> StoreAndMerchant {
        let configuration = StoreServerConfiguration(
            dataDirectory: places.data,
            catalogFiles: places.catalogs,
            controlPort: 0, sandboxPort: 0, productionPort: 0, storefrontPort: 0)
        // Log lines of the store would interrupt the output of the steps.
        return try await StoreAndMerchant.open(
            configuration, merchant: MerchantSettings(port: 0, productsFiles: places.merchantProducts),
            now: { Date() }, logger: ServeAction.logger(.error))
    }

    private func report(_ console: Console, _ teller: DemoTeller, _ problem: String?) throws {
        let report = Report(passed: problem == nil, problem: problem, steps: teller.told)
        try console.report(report, json: json) { style in
            guard problem == nil else {
                return "\n" + style.bad("The demo failed.") + " Its files are in \(places.data.path)."
            }
            let checks = report.steps.reduce(0) { $0 + $1.checks.count }
            return "\n" + style.good("All \(report.steps.count) steps passed, with \(checks) checks.")
        }
    }

    /// Runs the apps on their pages until the store is told to stop, and reports a failure.
    /// - Returns: why an app does not run, or nil.
    private func showPages(
        _ teller: DemoTeller, _ console: Console, _ group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws -> String? {
        guard let addresses = Addresses.read(from: places.data) else { return nil }
        let screens = DemoScreens(
            places: places, control: ControlClient(base: addresses.control, adminToken: nil), console: console)
        let isReported = Mutex(false)
        let running = Task {
            try await screens.run { pages in
                if json {
                    isReported.withLock { $0 = true }
                    let report = Report(passed: true, steps: teller.told, pages: pages, console: addresses.console)
                    try? console.report(report, json: true) { _ in "" }
                }
                let list = pages.map { "\($0.name.padding(toLength: 18, withPad: " ", startingAt: 0))\($0.address)" }
                let tester = SandboxTester.read(from: places.data)
                teller.say(
                    """

                    Open these pages in a browser, and buy:

                      \(list.joined(separator: "\n  "))
                      console           \(addresses.console ?? "none")

                    Sign in as \(tester?.email ?? "a tester"). The password is in \(places.path(SandboxTester.fileName).path).
                    Press Ctrl-C to stop it\(places.isKept ? "." : " and remove its files.")
                    """)
            }
        }
        defer { running.cancel() }
        // The store ends first when the process is told to stop.
        group.addTask { _ = try? await running.value }
        try await group.next()
        running.cancel()
        do { try await running.value } catch is CancellationError {
            return nil
        } catch {
            let problem = CommandError(known: error)?.detail ?? error.localizedDescription
            console.complain(problem)
            // `--json` prints one document. The one with the pages may have been printed.
            if !isReported.withLock({ $0 }) { try report(console, teller, problem) }
            return problem
        }
        return nil
    }

    private func stayUp(_ teller: DemoTeller, _ console: Console) {
        guard let addresses = Addresses.read(from: places.data) else { return }
        teller.say(
            """

            The store keeps running. In another terminal, try:

              \(commands(sandbox: addresses.sandbox).joined(separator: "\n  "))

            Press Ctrl-C to stop it\(places.isKept ? "." : " and remove its files.")
            """)
    }

    /// The commands to try after the steps.
    /// - Parameter sandbox: the base URL of the sandbox.
    func commands(sandbox: String) -> [String] {
        let commands = [
            "export PATH=\(places.programs.path.shellWord):\"$PATH\"",
            "export CORNERSTORE_DATA=\(places.data.path.shellWord)",
            "cornerstore buy com.example.monkeys.credits10 --quantity 2",
            "cornerstore transaction list",
            "cornerstore clock advance 3d12h",
            "cornerstore merchant products list",
            "cornerstore merchant check",
        ]
        let receipt = places.path("device/apps/com.example.monkeys/sandboxReceipt").path
        // Only the steps of Monkey Credits make this receipt.
        guard FileManager.default.fileExists(atPath: receipt) else { return commands }
        let file = receipt.shellWord
        return commands + [
            "cornerstore receipt inspect \(file)",
            #"curl -s \#(sandbox)/verifyReceipt -d '{"receipt-data":"'$(base64 -w0 \#(file))'"}'"#,
        ]
    }
}

/// Runs a store and its merchant as one service, so that a service group can stop them.
struct StoreService: Service {
    let application: StoreAndMerchant
    var hasConsole = false
    let onReady: @Sendable (Addresses) async -> Void

    func run() async throws {
        try await application.run(
            gracefulShutdownSignals: [], console: hasConsole ? ConsoleSettings(port: 0) : nil, onReady: onReady)
    }
}
