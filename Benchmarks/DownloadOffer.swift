import Foundation

/// A file that one of the measured servers offers for download.
struct DownloadOffer {
    let server: ChildProcess
    let url: String
    /// The required `Authorization` field; nil when the address suffices.
    var authorization: String?
    let length: Int64
    let sha256: String
    /// The file's path on the server, from where nginx serves it.
    let file: URL

    /// The measured values.
    struct Found {
        /// The rate of one download over nginx's; not a number without nginx.
        var overNginx: Double
        /// The server's highest resident memory above idle.
        var serverMebibytes: Double
        /// The client's highest resident memory with one download.
        var clientMebibytes: Double
        /// The slowest of 64 concurrent downloads over their median.
        var slowestOverMedian: Double
    }

    /// Downloads the whole file in turns with nginx, and then a part of it 64 times at once.
    /// - Parameter folder: The folder for nginx's own files.
    func measured(_ setting: Setting, in folder: URL) async throws -> Found {
        let nginx = try await NginxServer.start(serving: file.deletingLastPathComponent(), in: folder)
        defer { nginx?.child.stop() }
        let other = nginx.map { "http://127.0.0.1:\($0.port)/\(file.lastPathComponent)" }
        // Memory that was used before the downloads does not count.
        try server.forgetHighestMemory()
        let idle = try server.memory().resident
        var seconds: (server: [Double], nginx: [Double]) = ([], [])
        var client = 0.0
        for round in 0..<setting.rounds {
            for isServer in round % 2 == 0 ? [true, false] : [false, true] {
                guard let url = isServer ? self.url : other else { continue }
                let found = try ContentClient.found(url, authorization, count: 1, bytes: length)
                guard found.sha256 == sha256 else { throw BenchmarkError("the downloaded bytes differ") }
                if isServer {
                    seconds.server += found.seconds
                    client = max(client, found.highestMebibytes - found.idleMebibytes)
                } else {
                    seconds.nginx += found.seconds
                }
            }
        }
        func row(_ name: String, _ seconds: [Double]) -> String {
            let rate = Double(length) / Rate.median(seconds) / Double(1 << 20)
            return "  \(name): \(seconds.map(Figure.format).joined(separator: " ")) s, \(Figure.format(rate)) MiB/s"
        }
        print("  one download of \(length >> 20) MiB")
        print(row("Cornerstore", seconds.server))
        print(other == nil ? "  nginx: not installed (Debian: nginx-light), not measured" : row("nginx", seconds.nginx))

        let part = min(length, max(1 << 20, length / 16))
        let many = try ContentClient.found(url, authorization, count: 64, bytes: part)
        let slowest = many.seconds.max() ?? .nan
        let median = Rate.median(many.seconds)
        print(
            "  64 downloads of \(part >> 20) MiB at once: median \(Figure.format(median)) s, slowest "
                + "\(Figure.format(slowest)) s")
        let highest = Double(try server.memory().highest - idle) / Double(1 << 20)
        print("  memory above idle: server \(Figure.format(highest)) MiB, client \(Figure.format(client)) MiB")
        return Found(
            overNginx: other == nil ? .nan : Rate.median(seconds.nginx) / Rate.median(seconds.server),
            serverMebibytes: highest, clientMebibytes: client, slowestOverMedian: slowest / median)
    }
}
