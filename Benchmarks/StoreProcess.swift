import AsyncHTTPClient
import Foundation
import NIOCore

/// `cornerstore serve` of the same build, in a process of its own.
struct StoreProcess: Sendable {
    let child: ChildProcess
    /// Base URLs by their names in `addresses.json`: `control`, `sandbox`, `production`.
    let addresses: [String: String]
    /// The time from its start to its first answer to a request.
    let secondsToAnswer: Double
    private let file: URL

    /// The port of one of ``addresses``.
    func port(_ name: String) throws -> Int {
        guard let text = addresses[name], let port = URLComponents(string: text)?.port else {
            throw BenchmarkError("addresses.json names no port of \(name)")
        }
        return port
    }

    /// The port of one of the addresses that the file gets last, such as the console. Waits at most 10 seconds for it.
    func laterPort(_ name: String) async throws -> Int {
        for _ in 0..<1_000 {
            if let addresses = try? JSONDecoder().decode([String: String].self, from: Data(contentsOf: file)),
                let port = addresses[name].flatMap({ URLComponents(string: $0)?.port })
            {
                return port
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw BenchmarkError("addresses.json names no port of \(name)")
    }

    /// The path of the measured program, beside this one, because `make bench` builds both.
    static func executable() throws -> URL {
        let url = try ChildProcess.ownExecutable().deletingLastPathComponent().appending(path: "cornerstore")
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw BenchmarkError("cornerstore is not built beside cornerstore-bench; make bench builds both")
        }
        return url
    }

    static func arguments(
        catalog: String, data: URL, hasConsole: Bool = false, postgreSQL: (url: String, prefix: String)? = nil,
        options: [String] = []
    ) -> [String] {
        // The merchant is measured in a process of its own.
        ["serve", catalog, "--data", data.path, "--no-merchant"] + (hasConsole ? [] : ["--no-console"])
            + (postgreSQL.map { ["--database", $0.url, "--schema-prefix", $0.prefix] } ?? [])
            + ports.flatMap { [$0, "0"] } + options
    }

    /// The flags that choose ports; 0 is any free one.
    static let ports = ["--sandbox-port", "--production-port", "--control-port", "--storefront-port", "--console-port"]

    /// Starts the store and waits at most 30 seconds for its first answer.
    /// - Parameter options: further options. A bucket that they name has the keys `bench` and `bench`.
    static func start(
        catalog: String, data: URL, hasConsole: Bool = false, postgreSQL: (url: String, prefix: String)? = nil,
        options: [String] = [], on processors: Processors? = .forServers
    ) async throws -> StoreProcess {
        let file = data.appending(path: "addresses.json")
        // Remove the file of an earlier run.
        try? FileManager.default.removeItem(at: file)
        let arguments = arguments(
            catalog: catalog, data: data, hasConsole: hasConsole, postgreSQL: postgreSQL, options: options)
        let keys = ["AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"]
        let child = try ChildProcess(
            try executable(), arguments, environment: options.isEmpty ? [:] : keys, on: processors)
        do {
            while (ContinuousClock.now - child.started) < .seconds(30) {
                if let addresses = try? JSONDecoder().decode([String: String].self, from: Data(contentsOf: file)),
                    let address = addresses["sandbox"], await answers(address)
                {
                    let seconds = (ContinuousClock.now - child.started).seconds
                    return StoreProcess(child: child, addresses: addresses, secondsToAnswer: seconds, file: file)
                }
                guard child.isRunning else { throw BenchmarkError("cornerstore serve ended before it answered") }
                try await Task.sleep(for: .milliseconds(2))
            }
            throw BenchmarkError("cornerstore serve did not answer within 30 s")
        } catch {
            child.stop()
            throw error
        }
    }

    private static func answers(_ address: String) async -> Bool {
        let request = HTTPClientRequest(url: address)
        return (try? await HTTPClient.shared.execute(request, timeout: .seconds(5))) != nil
    }
}
