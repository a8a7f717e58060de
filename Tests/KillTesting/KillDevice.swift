import Foundation
import KillTestApp
import TestSupport

/// One device with its account and its app, launched again and again.
struct KillDevice: Sendable {
    let programs: Programs
    let store: StoreProcess
    let folder: URL
    let email: String
    private var chance: SeededGenerator
    /// Their number so far.
    private var orders = 0

    /// How a launch is to end.
    enum Fate: Sendable, Equatable {
        /// By itself.
        case ends
        /// At a named point.
        case dies(KillPoint)
        /// With `exit(0)` at a named point.
        case exits(KillPoint)
        /// After so long.
        case isKilled(after: Duration)
    }

    /// Makes the device and its account.
    init(_ programs: Programs, _ store: StoreProcess, folder: URL, email: String, seed: UInt64) async throws {
        self.programs = programs
        self.store = store
        self.folder = folder
        self.email = email
        chance = SeededGenerator(seed: seed)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let password = "password of \(email)"
        try Data(password.utf8).write(to: folder.appendingPathComponent("password"))
        try await store.createAccount(email, password: password)
    }

    var log: URL { folder.appendingPathComponent("log") }
    var errors: URL { folder.appendingPathComponent("errors") }

    /// Orders of one launch, mostly consumables; what is bought once is bought again now and then, which is free.
    mutating func someOrders(_ range: ClosedRange<Int>) -> [Order] {
        (0..<Int.random(in: range, using: &chance)).map { _ in
            orders += 1
            let isKept = Int.random(in: 0..<3, using: &chance) == 0
            let products = isKept ? StoreProcess.nonConsumables : StoreProcess.consumables
            return Order(
                name: "order\(orders)", product: products[Int.random(in: 0..<products.count, using: &chance)],
                quantity: isKept ? 1 : Int.random(in: 1...10, using: &chance))
        }
    }

    /// An order of each product with hosted content.
    mutating func hostedOrders() -> [Order] {
        StoreProcess.hosted.keys.sorted().map { product in
            orders += 1
            return Order(name: "order\(orders)", product: product, quantity: 1)
        }
    }

    /// Starts the app and waits for its end.
    ///
    /// - Parameters:
    ///   - isOnline: whether the device reaches the store.
    ///   - onPoint: is told of the points that the app passes.
    /// - Returns: whether it was killed.
    /// - Throws: ``KillTestError`` when it neither ended as it should nor was killed.
    mutating func launch(
        _ orders: [Order], _ fate: Fate, restores: Bool, isOnline: Bool = true,
        onPoint: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> Bool {
        var environment = Programs.environment
        // Nobody listens on port 1.
        environment["CORNERSTORE_STORE"] = isOnline ? await store.sandbox : "http://127.0.0.1:1"
        environment["CORNERSTORE_ROOTS"] = store.root.path
        environment["CORNERSTORE_DEVICE"] = folder.appendingPathComponent("device").path
        environment["CORNERSTORE_BUNDLE_ID"] = StoreProcess.bundleID
        environment["CORNERSTORE_SHEET"] = "approve"
        environment["CORNERSTORE_ACCOUNT"] = email
        environment["CORNERSTORE_PASSWORD_FILE"] = folder.appendingPathComponent("password").path
        environment["CORNERSTORE_LOG"] = "1"
        environment[KillTestApp.Variable.log] = log.path
        environment[KillTestApp.Variable.tells] = "1"
        if restores { environment[KillTestApp.Variable.restores] = "1" }
        switch fate {
        case .dies(let point): environment[KillTestApp.Variable.kill] = point.text
        case .exits(let point):
            environment[KillTestApp.Variable.kill] = point.text
            environment[KillTestApp.Variable.exits] = "1"
        case .ends, .isKilled: break
        }

        let (starts, start) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let app = try Child(programs.app, orders.map(\.argument), environment, log: errors) { line in
            start.yield()
            onPoint(String(line))
        }
        var assassin: Task<Void, Never>?
        if case .isKilled(let delay) = fate {
            // From its first word on: how long a program takes to start is no matter of ours.
            assassin = Task {
                for await _ in starts { break }
                try? await Task.sleep(for: delay)
                if !Task.isCancelled { app.signal(SIGKILL) }
            }
        }
        let ending = await app.wait(within: .seconds(60))
        assassin?.cancel()
        switch ending {
        case .exited(0): return false
        case .killed where fate != .ends: return true
        case .exited, .killed, .signalled:
            let what = (try? String(decoding: Data(contentsOf: errors), as: UTF8.self)) ?? ""
            throw KillTestError("\(email): the app ended with \(ending) (\(fate)): \(what.suffix(2000))")
        }
    }

    /// Compares the store's ledger with the app's log, and looks for what downloads left behind.
    func verdict() async throws -> Verdict {
        var verdict = try await comparison()
        verdict.wrong += try leftovers().map { "\($0) is left in the caches" }
        return verdict
    }

    /// Compares the store's ledger with the app's log.
    func comparison() async throws -> Verdict {
        let ledger = try await store.ledger(of: email).map {
            Verdict.Transaction(
                id: $0.transactionId, original: $0.originalTransactionId, product: $0.productId, quantity: $0.quantity,
                isFinished: $0.finishedDate != nil)
        }
        return Verdict(
            ledger: ledger, log: try AppLog.read(log), kept: Set(StoreProcess.nonConsumables),
            contents: await store.contents)
    }

    /// The files of downloads that are on the device still. Content goes at the launch after the one that finished its
    /// transaction.
    private func leftovers() throws -> [String] {
        let caches = folder.appendingPathComponent("device/apps/\(StoreProcess.bundleID)/caches/sandbox")
        guard let found = FileManager.default.enumerator(atPath: caches.path) else {
            throw KillTestError("\(email): nothing was ever downloaded")
        }
        return found.compactMap { $0 as? String }.filter { !["CACHEDIR.TAG", "content", "downloads"].contains($0) }
    }
}
