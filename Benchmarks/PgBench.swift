import Foundation

/// PostgreSQL's own load generator, with a transaction of as many statements as a redemption. It measures the server
/// itself.
enum PgBench {
    /// A row written, a user's newest one read, the next one written, and committed.
    private static let script = """
        \\set key random(1, 9000000000000000)
        \\set user random(1, 1000)
        BEGIN;
        INSERT INTO bench_redemptions (id, user_id, note) VALUES (:key, :user, repeat('x', 200)) ON CONFLICT (id) DO NOTHING;
        SELECT balance, entry FROM bench_entries WHERE user_id = :user ORDER BY entry DESC LIMIT 1;
        INSERT INTO bench_entries (user_id, entry, amount, balance, note) VALUES (:user, :key, 10, 10, repeat('x', 60));
        COMMIT;
        """
    private static let tables = """
        DROP TABLE IF EXISTS bench_redemptions, bench_entries;
        CREATE TABLE bench_redemptions (id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL, note TEXT NOT NULL);
        CREATE TABLE bench_entries (user_id BIGINT, entry BIGINT, amount BIGINT NOT NULL, balance BIGINT NOT NULL,
            note TEXT NOT NULL, PRIMARY KEY (user_id, entry));
        """

    /// Transactions a second.
    /// - Parameters:
    ///   - clients: connections, as many as the merchant has.
    static func rate(_ url: String, clients: Int, seconds: Double) throws -> Double {
        _ = try run("psql", ["-q", "-v", "ON_ERROR_STOP=1", "-c", tables, url])
        let file = FileManager.default.temporaryDirectory.appending(path: "cornerstore-bench-\(UUID().uuidString).sql")
        try Data(script.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let text = try run(
            "pgbench",
            [
                "-n", "-M", "prepared", "-c", String(clients), "-j", "1", "-T", String(max(1, Int(seconds.rounded()))),
                "-f", file.path, url,
            ])
        _ = try run("psql", ["-q", "-c", "DROP TABLE bench_redemptions, bench_entries", url])
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("tps = ") }),
            let rate = Double(line.dropFirst("tps = ".count).prefix { $0.isNumber || $0 == "." })
        else { throw BenchmarkError("pgbench printed no rate") }
        return rate
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try ChildProcess.run(process)
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError("\(program) ended with \(process.terminationStatus)")
        }
        return text
    }
}
