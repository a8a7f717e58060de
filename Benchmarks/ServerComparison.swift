import Foundation
import NIOCore

/// A running server and its load.
struct ServerUnderLoad: Sendable {
    var name: String
    var child: ChildProcess
    var port: Int
    var requests: LoadGenerator.Requests
    var accepts: @Sendable (ByteBufferView) -> Bool = { _ in true }
}

/// The result of several turns of load on one server.
struct ServerMeasurement: Sendable {
    var name: String
    /// Of each turn.
    var rates: [Double]
    /// Of all turns together.
    var all: LoadResult
    /// The number of cores that the server used, the mean of all turns.
    var serverCores: Double
    /// The highest resident memory, in bytes.
    var highestMemory: Int

    var rate: Double { Rate.median(rates) }

    /// This server's rate over that of another server, which was measured in turn with it.
    func over(_ other: ServerMeasurement) -> Double { Rate.ratio(rates, other.rates) }

    var row: String {
        let spread = Rate.quartileRange(rates)
        return String(
            format: "  %@ %9.0f /s (±%.0f %%)  p50 %.2f ms  p99 %.2f ms  server %.2f cores, generator %.2f  %d MiB",
            name.padding(toLength: 40, withPad: " ", startingAt: 0), rate, spread / 2 / rate * 100,
            all.percentile(0.5),
            all.percentile(0.99), serverCores, all.generatorShare, highestMemory >> 20
        )
    }
}

extension LoadGenerator {
    /// Puts the same load on each server in short turns, with the order reversed each time, so that a slower machine
    /// affects all. A failed request ends the measurement with an error.
    /// - Parameter beforeTurn: Called before each turn.
    func compared(
        _ servers: [ServerUnderLoad], rounds: Int, beforeTurn: () throws -> Void = {}
    ) async throws -> [ServerMeasurement] {
        for server in servers { _ = try await checked(server, warmUp: 0, seconds: warmUp) }
        let turns = turns(rounds)
        var rates = servers.map { _ in [Double]() }
        var cores = servers.map { _ in [Double]() }
        var results: [LoadResult?] = servers.map { _ in nil }
        for turn in 0..<turns.count {
            try beforeTurn()
            for index in turn % 2 == 0 ? Array(servers.indices) : servers.indices.reversed() {
                let server = servers[index]
                let before = try server.child.processorTime()
                let start = ContinuousClock.now
                let result = try await checked(server, warmUp: Self.turnWarmUp, seconds: turns.seconds)
                let passed = (ContinuousClock.now - start).seconds
                rates[index].append(result.perSecond)
                cores[index].append((try server.child.processorTime() - before) / passed)
                results[index] = results[index]?.adding(result) ?? result
            }
        }
        return try servers.indices.compactMap { index in
            guard var result = results[index] else { return nil }
            result.latencies.sort()
            return ServerMeasurement(
                name: servers[index].name, rates: rates[index], all: result,
                serverCores: cores[index].reduce(0, +) / Double(max(1, cores[index].count)),
                highestMemory: try servers[index].child.memory().highest
            )
        }
    }

    /// Puts the load on a server in turn with other work. `other` works for about a second and returns its rate.
    /// - Returns: Both rates of each turn.
    func compared(
        _ server: ServerUnderLoad, with other: () throws -> Double, rounds: Int
    ) async throws -> (server: ServerMeasurement, other: [Double]) {
        var others: [Double] = []
        let found = try await compared([server], rounds: rounds) { others.append(try other()) }
        guard let measurement = found.first else { throw BenchmarkError("\(server.name) was not measured") }
        return (measurement, others)
    }

    /// Lets a server write until its database's log has reached its full length and restarts. While the log's file
    /// grows, each flush also writes the new length, which happens only in a server's first seconds.
    func settle(_ server: ServerUnderLoad) async throws {
        _ = try await checked(server, warmUp: 0, seconds: 4 * warmUp)
    }

    /// The seconds of a turn that are not counted, while connections are opened.
    private static let turnWarmUp = 0.1

    /// Many turns of at most a second, together as long as the rounds.
    private func turns(_ rounds: Int) -> (count: Int, seconds: Double) {
        let all = seconds * Double(rounds)
        let count = max(rounds, Int(all.rounded(.up)))
        return (count, all / Double(count))
    }

    /// Seconds of load that ``compared(_:rounds:)`` puts on each server.
    func secondsOfLoad(rounds: Int) -> Double {
        let turns = turns(rounds)
        return warmUp + Double(turns.count) * (Self.turnWarmUp + turns.seconds)
    }

    private func checked(_ server: ServerUnderLoad, warmUp: Double, seconds: Double) async throws -> LoadResult {
        let load = LoadGenerator(clients: clients, warmUp: warmUp, seconds: seconds, accepts: server.accepts)
        let result = try await load.run(port: server.port, requests: server.requests)
        guard result.failed == 0, result.succeeded > 0 else {
            let counts = "\(result.failed) requests failed, \(result.succeeded) succeeded"
            throw BenchmarkError("\(server.name): \(counts); \(result.firstFailure ?? "")")
        }
        return result
    }
}
