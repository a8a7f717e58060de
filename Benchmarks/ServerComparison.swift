import Foundation
import NIOCore

/// A server that is running, and the load it is to bear.
struct ServerUnderLoad: Sendable {
    var name: String
    var child: ChildProcess
    var port: Int
    var requests: LoadGenerator.Requests
    var accepts: @Sendable (ByteBufferView) -> Bool = { _ in true }
}

/// What several turns of load told of one server.
struct ServerMeasurement: Sendable {
    var name: String
    /// Of each turn.
    var rates: [Double]
    var last: LoadResult
    /// Cores that the server kept busy, the mean of all turns.
    var serverCores: Double
    /// The most that it had resident, in bytes.
    var highestMemory: Int

    var rate: Double { Rate.median(rates) }

    /// This server's rate over another's, which was measured in turn with it.
    func over(_ other: ServerMeasurement) -> Double { Rate.ratio(rates, other.rates) }

    var row: String {
        let spread = Rate.quartileRange(rates)
        return String(
            format: "  %@ %9.0f /s (±%.0f %%)  p50 %.2f ms  p99 %.2f ms  server %.2f cores, generator %.2f  %d MiB",
            name.padding(toLength: 40, withPad: " ", startingAt: 0), rate, spread / 2 / rate * 100,
            last.percentile(0.5),
            last.percentile(0.99), serverCores, last.generatorShare, highestMemory >> 20
        )
    }
}

extension LoadGenerator {
    /// Puts the same load on each server in turn, in short turns and each time in the other order: a machine that slows
    /// down slows all. A failed request ends the measurement with an error.
    /// - Parameter beforeTurn: is done before each.
    func compared(
        _ servers: [ServerUnderLoad], rounds: Int, beforeTurn: () throws -> Void = {}
    ) async throws -> [ServerMeasurement] {
        for server in servers { _ = try await checked(server, warmUp: 0, seconds: warmUp) }
        let turns = turns(rounds)
        var rates = servers.map { _ in [Double]() }
        var cores = servers.map { _ in [Double]() }
        var last: [LoadResult?] = servers.map { _ in nil }
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
                last[index] = result
            }
        }
        return try servers.indices.compactMap { index in
            guard let result = last[index] else { return nil }
            return ServerMeasurement(
                name: servers[index].name, rates: rates[index], last: result,
                serverCores: cores[index].reduce(0, +) / Double(max(1, cores[index].count)),
                highestMemory: try servers[index].child.memory().highest
            )
        }
    }

    /// Puts the load on a server in turn with other work, of which `other` does a second's and gives the rate.
    /// - Returns: of each turn both rates.
    func compared(
        _ server: ServerUnderLoad, with other: () throws -> Double, rounds: Int
    ) async throws -> (server: ServerMeasurement, other: [Double]) {
        var others: [Double] = []
        let found = try await compared([server], rounds: rounds) { others.append(try other()) }
        guard let measurement = found.first else { throw BenchmarkError("\(server.name) was not measured") }
        return (measurement, others)
    }

    /// Has a server write until its database's log has its full length and is written anew: while a file grows, each
    /// flush writes down its new length too, which a server does only in the first seconds of its life.
    func settle(_ server: ServerUnderLoad) async throws {
        _ = try await checked(server, warmUp: 0, seconds: 4 * warmUp)
    }

    /// Seconds of a turn that are not counted: connections are made.
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
