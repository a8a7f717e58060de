import Foundation

extension Section {
    /// Purchases at one process of a store and at two, by as many clients.
    static let processes = Section(name: "processes") { setting in
        guard let url = ProcessInfo.processInfo.environment["CORNERSTORE_TEST_POSTGRESQL"], !url.isEmpty else {
            print("  no PostgreSQL: run it through scripts/with-postgresql, as make bench does")
            return [.purchasesTwoProcessesOverOne(.nan)]
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let options = try sharedOptions(in: folder)
        let store = try await StoreUnderLoad.start(
            Ledger(accounts: 1_000, transactions: 1_000), database: url, options: options)
        defer { store.stop() }
        let second = try await store.joined(data: folder.appending(path: "second"))
        defer { second.child.stop() }
        let buying = try store.purchases()
        let ports = [buying.port, try second.port("sandbox")]
        @Sendable func load(_ clients: Int, _ port: Int) async throws -> Double {
            let load = LoadGenerator(
                clients: clients, warmUp: setting.warmUp / 4, seconds: setting.seconds, accepts: buying.accepts)
            let result = try await load.run(port: port, requests: buying.requests)
            guard result.failed == 0, result.succeeded > 0 else {
                throw BenchmarkError("purchases at port \(port): \(result.firstFailure ?? "no answer")")
            }
            return result.perSecond
        }
        try await setting.load.settle(buying)
        var (one, two): ([Double], [Double]) = ([], [])
        var used: [(name: String, one: Double, two: Double)] = []
        let children = [store.store.child, second.child]
        for _ in 0..<setting.rounds {
            let before = try processorTimes(of: children)
            one.append(try await load(setting.clients, ports[0]))
            let between = try processorTimes(of: children)
            async let first = load(setting.clients / 2, ports[0])
            async let other = load(setting.clients / 2, ports[1])
            two.append(try await first + other)
            let after = try processorTimes(of: children)
            for (index, name) in ["stores", "PostgreSQL", "client"].enumerated() {
                if used.count == index { used.append((name, 0, 0)) }
                used[index].one += between[index] - before[index]
                used[index].two += after[index] - between[index]
            }
        }
        print(String(format: "  one process %.0f /s, two %.0f /s", Rate.median(one), Rate.median(two)))
        for part in used {
            print(
                String(
                    format: "  %@: %.1f s of processor time with one, %.1f s with two",
                    part.name, part.one, part.two))
        }
        return [.purchasesTwoProcessesOverOne(Rate.ratio(two, one))]
    }

    /// The options that processes of one store share. No content is used, so the bucket need not exist.
    private static func sharedOptions(in folder: URL) throws -> [String] {
        let key = folder.appending(path: "store.key")
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let isMade = FileManager.default.createFile(
            atPath: key.path, contents: Data(Data(bytes).base64EncodedString().utf8),
            attributes: [.posixPermissions: 0o600])
        guard isMade else { throw BenchmarkError("\(key.path) cannot be written") }
        return [
            "--store-key", key.path, "--storefront-url", "http://127.0.0.1:1", "--ocsp-url",
            "http://127.0.0.1:1/ocsp", "--blobs", "s3://bench?endpoint=http://127.0.0.1:1&region=eu-west-3",
            "--drain-delay", "0",
        ]
    }

    /// The processor time of stores, of all of PostgreSQL's processes on the machine, and of this process, in seconds.
    /// Time of a connection's process that has ended meanwhile is missing.
    private static func processorTimes(of stores: [ChildProcess]) throws -> [Double] {
        func time(_ process: String) -> (name: Substring, seconds: Double)? {
            guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
            else { return nil }
            // Fields 14 and 15 of proc(5): user and system time in ticks. The name is the second field.
            let fields = text[text.index(after: end)...].split(separator: " ")
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
            return (text[text.index(after: start)..<end], (user + system) / Double(sysconf(Int32(_SC_CLK_TCK))))
        }
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }
        let database = processes.compactMap(time).filter { $0.name == "postgres" }.reduce(0) { $0 + $1.seconds }
        return [try stores.reduce(0) { $0 + (try $1.processorTime()) }, database, time("self")?.seconds ?? .nan]
    }
}

extension Figure {
    /// Rate of purchases at two processes of a store on one PostgreSQL over that at one, with as many clients.
    static func purchasesTwoProcessesOverOne(_ value: Double) -> Figure {
        Figure(name: "purchases-two-processes-over-one", value: value, goal: .atLeast(1.3))
    }
}
