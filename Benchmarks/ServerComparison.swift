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

/// What several rounds of load told of one server.
struct ServerMeasurement: Sendable {
    var name: String
    var rates: [Double]
    var last: LoadResult
    /// Cores that the server kept busy, the mean of all rounds.
    var serverCores: Double
    /// The most that it had resident, in bytes.
    var highestMemory: Int

    var rate: Double { Rate.median(rates) }

    var row: String {
        let spread = (rates.max() ?? 0) - (rates.min() ?? 0)
        return String(
            format: "  %@ %9.0f /s (±%.0f %%)  p50 %.2f ms  p99 %.2f ms  server %.2f cores, generator %.2f  %d MiB",
            name.padding(toLength: 36, withPad: " ", startingAt: 0), rate, spread / 2 / rate * 100,
            last.percentile(0.5),
            last.percentile(0.99), serverCores, last.generatorShare, highestMemory >> 20
        )
    }
}

extension LoadGenerator {
    /// Puts the same load on each server in turn, round after round, each round in the other order: a machine that
    /// slows down slows all. Any failed request is an error, for a rate of failures is none.
    func compared(_ servers: [ServerUnderLoad], rounds: Int) async throws -> [ServerMeasurement] {
        var rates = servers.map { _ in [Double]() }
        var cores = servers.map { _ in [Double]() }
        var last: [LoadResult?] = servers.map { _ in nil }
        for round in 0..<rounds {
            for index in round % 2 == 0 ? Array(servers.indices) : servers.indices.reversed() {
                let server = servers[index]
                let before = try server.child.processorTime()
                let start = ContinuousClock.now
                let result = try await with(accepts: server.accepts).run(port: server.port, requests: server.requests)
                let passed = (ContinuousClock.now - start).seconds
                guard result.failed == 0, result.succeeded > 0 else {
                    let counts = "\(result.failed) requests failed, \(result.succeeded) succeeded"
                    throw BenchmarkError("\(server.name): \(counts); \(result.firstFailure ?? "")")
                }
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

    private func with(accepts: @escaping @Sendable (ByteBufferView) -> Bool) -> LoadGenerator {
        var copy = self
        copy.accepts = accepts
        return copy
    }
}
