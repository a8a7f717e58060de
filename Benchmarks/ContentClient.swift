import AsyncHTTPClient
import Crypto
import Foundation
import NIOCore

/// A downloading client: this program with other arguments, in a process of its own so that its memory can be measured.
/// It hashes the bytes and does not store them.
enum ContentClient {
    static let subcommand = "content-client"

    /// The process's result, as it prints it.
    struct Found: Codable, Sendable {
        /// The seconds of each download.
        var seconds: [Double]
        /// The resident memory before the first download.
        var idleMebibytes: Double
        /// The highest resident memory.
        var highestMebibytes: Double
        /// The digest of the downloaded bytes, equal for each download.
        var sha256: String
    }

    /// The address, how many downloads at once, how many bytes each, and the `Authorization` field or nothing.
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 4, let count = Int(arguments[1]), let bytes = Int64(arguments[2]) else {
            throw BenchmarkError("the downloading process takes an address, two numbers and a field")
        }
        var request = HTTPClientRequest(url: arguments[0])
        request.headers.add(name: "Range", value: "bytes=0-\(bytes - 1)")
        if !arguments[3].isEmpty { request.headers.add(name: "Authorization", value: arguments[3]) }
        let asked = request
        let idle = try Memory.resident().now
        // The pool's default of eight connections would make the other downloads wait.
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = count
        let found = try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            try await withThrowingTaskGroup(of: (Double, String).self) { group in
                for _ in 0..<count { group.addTask { try await download(asked, bytes, client) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        guard let digest = found.first?.1, found.allSatisfy({ $0.1 == digest }) else {
            throw BenchmarkError("the downloads differ")
        }
        let result = Found(
            seconds: found.map(\.0), idleMebibytes: idle, highestMebibytes: try Memory.resident().highest,
            sha256: digest)
        print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
    }

    private static func download(
        _ request: HTTPClientRequest, _ bytes: Int64, _ client: HTTPClient
    ) async throws -> (Double, String) {
        let start = ContinuousClock.now
        let response = try await client.execute(request, timeout: .hours(1))
        guard response.status == .partialContent else { throw BenchmarkError("HTTP \(response.status.code)") }
        var hash = SHA256()
        var count: Int64 = 0
        for try await piece in response.body {
            piece.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            count += Int64(piece.readableBytes)
        }
        guard count == bytes else { throw BenchmarkError("\(count) bytes were received instead of \(bytes)") }
        let digest = hash.finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return ((ContinuousClock.now - start).seconds, digest)
    }

    /// Starts the process on the load's cores and returns its result.
    static func found(_ url: String, _ authorization: String?, count: Int, bytes: Int64) throws -> Found {
        let output = Pipe()
        let child = try ChildProcess(
            try ChildProcess.ownExecutable(), [subcommand, url, String(count), String(bytes), authorization ?? ""],
            output: output, on: .forLoad)
        defer { child.stop() }
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        do { return try JSONDecoder().decode(Found.self, from: text) } catch {
            throw BenchmarkError("the downloading process said “\(String(decoding: text.prefix(200), as: UTF8.self))”")
        }
    }
}

/// This process's memory in mebibytes.
private enum Memory {
    static func resident() throws -> (now: Double, highest: Double) {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        func mebibytes(_ name: String) -> Double {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? .nan) / 1024
        }
        return (mebibytes("VmRSS"), mebibytes("VmHWM"))
    }
}
