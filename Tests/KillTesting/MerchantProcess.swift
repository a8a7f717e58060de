import Foundation
import KillTestApp
import MerchantServer
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport

/// What merchants of one test share: their folder, their database, and the keys of the store that they trust.
package struct MerchantSetup: Sendable {
    package static let bundleID = "com.example.kills"
    /// What a redeemed `coins` gives.
    package static let credits: Int64 = 100

    package var programs: Programs
    /// Of the test's own files.
    package let folder: URL
    /// The merchants' data directory.
    package var data: URL
    package var databaseURL: String?
    package var schema: String
    /// Where changes are sent.
    package var webhook: String?
    /// The value of `--blobs`.
    package var blobs: String?
    /// The store's.
    package let authority: CertificateAuthority

    /// Makes the files that a merchant is started with.
    /// - Parameter items: content items; for each there is a product `get-ITEM`.
    package init(
        _ programs: Programs, folder: URL, databaseURL: String?, schema: String, items: [String]
    ) async throws {
        self.programs = programs
        self.folder = folder
        data = folder.appendingPathComponent("merchant")
        self.databaseURL = databaseURL
        self.schema = schema
        let keys = folder.appendingPathComponent("authority")
        try await SharedAuthority.copy(to: keys)
        authority = try await CertificateAuthority.open(directory: keys, at: Date())
        try Data(authority.jwsRoot).write(to: folder.appendingPathComponent("root.der"))
        try Data(authority.receiptRoot).write(to: folder.appendingPathComponent("receipt-root.der"))
        let products =
            ["  - {id: coins, kind: consumable, grants: [{credits: \(Self.credits), currency: coins}]}"]
            + items.map { "  - {id: get-\($0), kind: nonConsumable, grants: [{content: \($0)}]}" }
        try Data("app: \(Self.bundleID)\nproducts:\n\(products.joined(separator: "\n"))\n".utf8)
            .write(to: folder.appendingPathComponent("products.yaml"))
    }

    package var log: URL { folder.appendingPathComponent("merchant.log") }

    /// Where everything is, as each of the operator's commands is told.
    package var place: [String] {
        ["--data", data.path] + (databaseURL.map { ["--database", $0, "--schema", schema] } ?? [])
    }

    fileprivate func serving(on port: Int) -> [String] {
        var arguments =
            ["merchant", "serve", "--json", "--log-level", "error", "--port", "\(port)", "--no-console"] + place
        arguments += ["--products", folder.appendingPathComponent("products.yaml").path]
        arguments += [
            "--root", folder.appendingPathComponent("root.der").path, "--root",
            folder.appendingPathComponent("receipt-root.der").path, "--allow-sandbox", "--default-environment",
            "sandbox",
        ]
        arguments += ["--no-rate-limits", "--refunds", "below-zero"]
        if let webhook { arguments += ["--webhook", webhook] }
        if let blobs { arguments += ["--blobs", blobs] }
        return arguments
    }

    fileprivate var environment: [String: String] {
        var environment = Programs.environment
        environment["CORNERSTORE_WEBHOOK_SECRET"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        if blobs != nil { environment.merge(["AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"]) { $1 } }
        return environment
    }

    /// Runs one of the operator's commands, such as `check`, to its end.
    /// - Returns: the exit code and what it printed.
    package func command(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await programs.run(["merchant"] + arguments + place, environment, log: log)
    }

    /// As ``command(_:)``, but that it kills itself at a point.
    /// - Returns: whether it came there.
    package func command(_ arguments: [String], dyingAt point: KillPoint) async throws -> Bool {
        let environment = environment.merging(["KILL_TEST_AT": point.text]) { $1 }
        return try await programs.run(
            ["merchant"] + arguments + place, environment, log: log, program: programs.merchant
        ).status == -1
    }

    /// A new API key with all scopes.
    package func makeKey(_ name: String) async throws -> String {
        let scopes = APIScope.allCases.flatMap { ["--scope", $0.rawValue] }
        let (status, output) = try await command(["key", "make", name] + scopes)
        guard status == 0 else { throw KillTestError("no API key: \(ServerProcess.end(of: log))") }
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A user's token, once a merchant was started.
    package func token(_ user: UserID) async throws -> String {
        try await UserTokens(try await .open(directory: data)).makeToken(for: user, at: Date())
    }

    /// A transaction as the store signs it.
    package func signed(_ product: String, _ transaction: String) throws -> [UInt8] {
        Array(try sign(Self.fields(product, transaction)).utf8)
    }

    /// What the store tells of a transaction, as a request's body.
    package func notification(_ type: String, _ product: String, _ transaction: String, id: String) throws -> [UInt8] {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        let signed = try sign([
            "notificationType": type, "notificationUUID": id, "version": "2.0", "signedDate": now,
            "data": [
                "bundleId": Self.bundleID, "environment": "Sandbox",
                "signedTransactionInfo": try sign(
                    Self.fields(product, transaction).merging(["revocationDate": now]) { $1 }),
            ],
        ])
        return Array(try JSONSerialization.data(withJSONObject: ["signedPayload": signed]))
    }

    private static func fields(_ product: String, _ transaction: String) -> [String: Any] {
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        return [
            "transactionId": transaction, "originalTransactionId": transaction, "bundleId": bundleID,
            "productId": product, "purchaseDate": now, "quantity": 1, "environment": "Sandbox", "signedDate": now,
        ]
    }

    private func sign(_ fields: [String: Any]) throws -> String {
        try authority.jwsIdentity(for: .sandbox).sign(Array(try JSONSerialization.data(withJSONObject: fields)))
    }
}

/// `cornerstore merchant serve` as a process that is killed and started again on the same files, database and port.
package actor MerchantProcess {
    package nonisolated let setup: MerchantSetup
    private nonisolated let server = ServerProcess()
    private nonisolated let port: ReservedPort

    package init(_ setup: MerchantSetup) throws {
        self.setup = setup
        port = try ReservedPort()
    }

    package nonisolated var address: String { "http://127.0.0.1:\(port.number)" }

    /// Starts it and returns when it answers.
    package func start() async throws {
        try await server.start(launch(setup.programs.store, setup.environment))
    }

    /// Starts one that kills itself at a point, and waits until it has.
    /// - Returns: false when it did not come there within `limit`.
    func die(at point: KillPoint, within limit: Duration) async throws -> Bool {
        let environment = setup.environment.merging(["KILL_TEST_AT": point.text]) { $1 }
        // What is left of the one before is delivered while it still starts.
        guard try await server.start(launch(setup.programs.merchant, environment), mayDie: true) else { return true }
        switch await server.ending(within: limit) {
        case .killed: return true
        case nil: return false
        case let ending?: throw KillTestError("the merchant ended with \(ending): \(ServerProcess.end(of: setup.log))")
        }
    }

    private func launch(_ program: URL, _ environment: [String: String]) -> ServerProcess.Launch {
        .init(program: program, arguments: setup.serving(on: port.number), environment: environment, log: setup.log)
    }

    /// As it is started, but for the end, which it comes to by itself at once: another one has the place.
    package func startInVain() async throws -> (status: Int32, errors: String) {
        let log = setup.folder.appendingPathComponent("vain.log")
        let (status, _) = try await setup.programs.run(setup.serving(on: port.number), setup.environment, log: log)
        return (status, ServerProcess.end(of: log))
    }

    /// SIGKILL; false when it was dead already, which nobody but this test may be the reason of.
    package func kill() async -> Bool { await server.stop(SIGKILL) == .killed }

    /// The gentle way.
    @discardableResult
    package func stop() async -> Bool { await server.stop(SIGTERM) == .exited(0) }

    /// Returns when it answers, or never will again.
    nonisolated func up() async { await server.up() }

    nonisolated func giveUp() async { await server.giveUp() }
}
