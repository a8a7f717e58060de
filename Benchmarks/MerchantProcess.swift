import Foundation

/// `cornerstore merchant serve` of the same build, in a process of its own.
struct MerchantProcess {
    let child: ChildProcess
    let port: Int

    /// Starts the merchant and waits for its address.
    /// - Parameters:
    ///   - data: The merchant's data directory.
    ///   - roots: The DER files with the roots of the accepted store.
    ///   - database: a PostgreSQL URL and a schema in it; nil for SQLite in `data`.
    ///   - processors: The merchant's cores.
    static func start(
        data: URL, roots: [URL], products: URL, database: (url: String, schema: String)?,
        on processors: Processors? = .forServers
    ) throws -> MerchantProcess {
        var arguments = [
            "merchant", "serve", "--data", data.path, "--products", products.path, "--allow-sandbox", "--port", "0",
            "--no-console", "--no-rate-limits", "--json",
        ]
        for root in roots { arguments += ["--root", root.path] }
        if let database { arguments += ["--database", database.url, "--schema", database.schema] }
        let output = Pipe()
        let child = try ChildProcess(try StoreProcess.executable(), arguments, output: output, on: processors)
        struct Report: Decodable { var merchant: String }
        var text = Data()
        while true {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                child.stop()
                throw BenchmarkError("cornerstore merchant serve ended before it answered")
            }
            text += more
            guard let report = try? JSONDecoder().decode(Report.self, from: text) else { continue }
            guard let port = URLComponents(string: report.merchant)?.port else {
                child.stop()
                throw BenchmarkError("cornerstore merchant serve said “\(report.merchant)” instead of its address")
            }
            return MerchantProcess(child: child, port: port)
        }
    }
}
