import Foundation

extension Section {
    /// One large download over loopback from the store and from nginx to the same client, and 64 at once.
    static let content = Section(name: "content") { setting in
        let bytes = setting.contentMebibytes << 20
        return try await ContentStore.with(bytes: bytes) { content in
            let nginx = try await NginxServer.start(
                serving: content.package.deletingLastPathComponent(), in: content.data.appending(path: "nginx"))
            defer { nginx?.child.stop() }
            let length = content.grant.length
            let other = nginx.map { "http://127.0.0.1:\($0.port)/\(content.grant.sha256)" }
            // What was read and checked before is no part of serving.
            try content.store.child.forgetHighestMemory()
            let idle = try content.store.child.memory().resident
            var seconds: (store: [Double], nginx: [Double]) = ([], [])
            var client = 0.0
            for round in 0..<setting.rounds {
                for isStore in round % 2 == 0 ? [true, false] : [false, true] {
                    guard let url = isStore ? content.url : other else { continue }
                    let found = try ContentClient.found(url, count: 1, bytes: length)
                    guard found.sha256 == content.grant.sha256 else { throw BenchmarkError("other bytes came") }
                    if isStore {
                        seconds.store += found.seconds
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
            print(row("store", seconds.store))
            print(
                other == nil
                    ? "  nginx: not installed (Debian: nginx-light), not measured" : row("nginx", seconds.nginx))

            let part = min(length, Int64(max(1, bytes / 16)))
            let many = try ContentClient.found(content.url, count: 64, bytes: part)
            let slowest = many.seconds.max() ?? .nan
            print(
                "  64 downloads of \(part >> 20) MiB at once: median \(Figure.format(Rate.median(many.seconds))) s, slowest "
                    + "\(Figure.format(slowest)) s")
            let server = Double(try content.store.child.memory().highest - idle) / Double(1 << 20)
            print("  memory above idle: store \(Figure.format(server)) MiB, client \(Figure.format(client)) MiB")
            return [
                .contentDownloadOverNginx(
                    other == nil ? .nan : Rate.median(seconds.nginx) / Rate.median(seconds.store)),
                .contentServerMebibytes(server), .contentClientMebibytes(client),
                .contentSlowestOverMedian(slowest / Rate.median(many.seconds)),
            ]
        }
    }
}
