import ControlWire
import CornerstoreEncoding
import Database
import Foundation
import Glibc
import Logging
import Store
import StoreReceipts
import StoreWire
import Synchronization

/// The current facts about this process for the other processes of its store.
final class OwnFacts: Sendable {
    private let facts: Mutex<ProcessFacts>
    private let membership: Membership

    init(_ facts: ProcessFacts, _ membership: Membership) {
        var facts = facts
        facts.node = membership.node
        self.facts = Mutex(facts)
        self.membership = membership
    }

    var value: ProcessFacts { facts.withLock { $0 } }

    /// Changes the facts, and tells them with the next beat if they are new.
    func update(_ change: (inout ProcessFacts) -> Void) {
        let new = facts.withLock { facts -> ProcessFacts? in
            var changed = facts
            change(&changed)
            guard changed != facts else { return nil }
            facts = changed
            return changed
        }
        if let new { membership.tell(new) }
    }
}

extension StoreServerConfiguration {
    /// Checks what processes need that share a store.
    /// - Throws: ``StoreServerError`` `sharedSettingMissing`.
    func checkSharing() throws(StoreServerError) {
        guard isShared, storefrontURL == nil else { return }
        throw StoreServerError(
            .sharedSettingMissing,
            "The processes of a store give their customers the same links. Name the storefront's address with "
                + "--storefront-url, the same for each process.")
    }

    /// The facts about this process for the others before its ports are open.
    /// - Parameters:
    ///   - catalog: the digest of the catalog files.
    ///   - startedAt: the machine's time, in milliseconds since 1970.
    func facts(catalog: String, startedAt: Int64) -> ProcessFacts {
        ProcessFacts(
            node: node ?? 0, version: CornerstoreVersion.text, name: Self.processName, address: nil, place: nil,
            catalog: catalog, storefront: storefrontURL, ocsp: ocspURL, blobs: blobPlace,
            renewals: renewalOptions, hasMerchant: hasMerchant, buildsFeeds: feed.isScheduled, startedAt: startedAt,
            problem: ControlAPI.StoreProcess.starting)
    }

    /// The options by which subscriptions renew. A process charges with its own, whichever sold the subscription.
    private var renewalOptions: [String: String] {
        func lead(_ policy: RenewalPolicy) -> String {
            policy.lead % 1_000 == 0 ? "\(policy.lead / 1_000)s" : "\(policy.lead)ms"
        }
        func days(_ policy: RenewalPolicy) -> String { policy.retryDays.map(String.init).joined(separator: ",") }
        return [
            "--production-renewal-lead": lead(productionRenewals), "--sandbox-renewal-lead": lead(sandboxRenewals),
            "--production-retry-days": days(productionRenewals), "--sandbox-retry-days": days(sandboxRenewals),
        ]
    }

    /// The process for people, such as `process 4711 on store-1`.
    static var processName: String { "process \(getpid()) on \(ProcessInfo.processInfo.hostName)" }

    /// The place of the packages, the same for all processes that reach the same packages.
    private var blobPlace: String {
        if let bucket { return "s3://\(bucket.bucket)/\(bucket.prefix)?endpoint=\(bucket.endpoint)" }
        if let sharedBlobs { return sharedBlobs.path }
        return ProcessFacts.privateBlobs + dataDirectory.path
    }
}

extension StoreApplication {
    /// The operation of a server whose databases are open.
    static func makeOperation(
        _ configuration: StoreServerConfiguration, _ stores: [Store], _ databases: StoreDatabases,
        _ catalogs: StoreCatalogs, _ facts: OwnFacts?, _ logger: Logger
    ) -> StoreOperation {
        let membership = databases.membership
        var process: (@Sendable () -> ProcessState)?
        var isCurrent: (@Sendable () -> Bool)?
        if let membership, let facts {
            process = { ProcessState(membership, own: facts.value, doublyDescribed: catalogs.doublyDescribed) }
            isCurrent = { membership.isCurrent }
        }
        var hasStandby: (@Sendable () async throws -> Bool)?
        if configuration.requiresStandby, let store = stores.first {
            hasStandby = { try await store.hasSynchronousStandby() }
        }
        let health = StoreHealth(
            check: { for store in stores { try await store.check() } }, process: process, hasStandby: hasStandby,
            logger: logger)
        let metrics = StoreMetrics(
            databases: {
                var states: [StoreEnvironment: StoreMetrics.DatabaseState] = [:]
                for store in stores {
                    let (waiting, repeated) = store.databaseStatistics
                    states[store.environment] = StoreMetrics.DatabaseState(waiting: waiting, repeated: repeated)
                }
                return states
            }, process: process)
        return StoreOperation(
            health: health, metrics: metrics, node: membership?.node, others: OtherProcess(membership),
            process: process, isCurrent: isCurrent)
    }

    /// Waits until this process has heard what the others have changed, so that it answers the first requests. After
    /// ten seconds the ports open all the same, and ``StoreHealth`` says what is wrong.
    func waitUntilCurrent() async {
        guard let isCurrent = operation.isCurrent else { return }
        let end = ContinuousClock.now + .seconds(10)
        while !isCurrent(), .now < end, (try? await Task.sleep(for: .milliseconds(10))) != nil {}
    }

    /// Takes over what other processes have changed. Nil stands for everything. Throws the errors of
    /// ``ChangeApplier/apply(_:)``.
    var listener: @Sendable ([Announcement]?) async throws -> Void {
        let news = ChangeApplier(
            sandbox: sandbox, production: production, apps: apps, keys: apiKeys, partners: partners, managed: managed,
            reviews: reviews, content: desk.library,
            authority: { [currentAuthority] in try await currentAuthority.reload() }, changes: changes)
        return { [apps, directory, logger] heard in
            try await news.apply(heard)
            // The file has the secrets of apps that another process has registered, too.
            guard heard?.contains(where: { $0.topic == "apps.apps" }) ?? true else { return }
            do { try Self.writeSecrets(of: apps, to: directory) } catch {
                // No request reads the file, so a full disk does not stop the process.
                logger.error(
                    "shared-secrets.json is not written, it may lack apps until the next change of an app",
                    metadata: ["problem": "\(error)"])
            }
        }
    }

    /// Gives the data directory the sandbox tester, and creates its account when there is none. All processes of a
    /// store have the same tester.
    func prepareTester() async throws {
        let known = SandboxTester.read(from: directory.url)
        guard known == nil || configuration.isShared else { return }
        var tester = known ?? .made()
        // A database that was used before has this address already, but its password is in another data directory.
        if known == nil, try await sandbox.accounts.account(email: tester.email) != nil {
            tester.email = "tester-\(tester.password.prefix(6))@sandbox.example"
        }
        if configuration.isShared {
            tester = try await .kept(in: secrets, orNew: tester)
        }
        if try await sandbox.accounts.account(email: tester.email) == nil {
            do {
                _ = try await sandbox.accounts.create(
                    NewAccount(email: tester.email, password: tester.password, storefront: "USA"),
                    at: sandbox.clock.milliseconds)
            } catch {
                // Another process may have created it meanwhile.
                guard try await sandbox.accounts.account(email: tester.email) != nil else { throw error }
            }
        }
        try directory.write(JSONEncoder.readable.encode(tester), to: SandboxTester.fileName, isSecret: true)
    }

    /// Names the OCSP responder in the certificates of signed payloads. Processes that share a store name only the
    /// configured address, which is the same for all.
    func useOCSP(_ addresses: Addresses) async {
        guard
            let url = configuration.ocspURL
                ?? (configuration.isShared ? nil : addresses.production + CurrentAuthority.ocspPath)
        else { return }
        do { try await currentAuthority.useOCSP(at: url) } catch {
            logger.error(
                "signed payloads do not name the OCSP responder, online checks will fail",
                metadata: ["problem": "\(error)"])
        }
    }
}

extension Logger {
    /// The same logger, whose lines name the process of a store.
    /// - Parameter node: the process's number; nil for a store of one process.
    func naming(process node: Int?) -> Logger {
        guard let node else { return self }
        var logger = self
        logger[metadataKey: "process"] = "\(node)"
        return logger
    }
}

extension SandboxTester {
    /// Makes a tester with a password that nobody knows.
    static func made() -> SandboxTester {
        var generator = SystemRandomNumberGenerator()
        let password = (0..<4).map { _ in String(UInt32.random(in: 0...UInt32.max, using: &generator), radix: 36) }
            .joined(separator: "-")
        return SandboxTester(email: "tester@sandbox.example", password: password)
    }
}
