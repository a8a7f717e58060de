import AsyncHTTPClient
import Foundation
import NIOCore

/// The console of a store under load, and the requests of a browser that shows it.
struct ConsoleUnderLoad: Sendable {
    /// A page.
    struct Page: Sendable {
        var path: String
        /// Whether the page shows a part of the whole ledger, or everything about one customer.
        var isOfMany = false
    }

    let port: Int
    private let ledger: Ledger

    init(_ store: StoreUnderLoad) async throws {
        port = try await store.store.laterPort("console")
        ledger = store.ledger
    }

    /// Every page of the sandbox that shows something of its own.
    func pages() async throws -> [Page] {
        let (customer, customerLink) = try await (
            "/sandbox/customers", link("/sandbox/customers", below: "/sandbox/customers/")
        )
        let (transactions, transactionLink) = try await (
            "/sandbox/transactions", link("/sandbox/transactions", below: "/sandbox/transactions/")
        )
        let product = try await link("/sandbox/products", below: "/sandbox/products/")
        return [
            Page(path: "/sandbox"), Page(path: customer), Page(path: customerLink, isOfMany: true),
            Page(path: transactions, isOfMany: true), Page(path: transactionLink),
            // No sale has this product, so the page looks as far as it may.
            Page(path: transactions + "?product=com.example.bench.none"), Page(path: "/sandbox/attempts"),
            Page(path: "/sandbox/products"), Page(path: product), Page(path: "/sandbox/content"),
            Page(path: "/sandbox/clock"), Page(path: "/sandbox/notifications"), Page(path: "/sandbox/inspector"),
            Page(path: "/sandbox/settings"), Page(path: "/sandbox/snippets"), Page(path: "/sandbox/search?q=bench-1"),
            Page(path: "/sandbox/search?q=\(ledger.subscriptionID(7))"),
        ]
    }

    /// The first link on a page to an address that begins with a text.
    private func link(_ page: String, below start: String) async throws -> String {
        let html = try await text(page)
        guard let begin = html.range(of: "href=\"" + start) else {
            throw BenchmarkError("\(page) links to nothing below \(start)")
        }
        return start + html[begin.upperBound...].prefix { $0 != "\"" && $0 != "?" }
    }

    /// The bytes of the first page with all that it loads, and the number of requests.
    func firstPage() async throws -> (bytes: Int, requests: Int) {
        let html = try await text("/sandbox")
        let parts = Set(html.matches(of: /(?:href|src)="(\/assets\/[^"]+)"/).map { String($0.1) })
        var bytes = html.utf8.count
        for part in parts { bytes += try await text(part).utf8.count }
        return (bytes, parts.count + 1)
    }

    /// Shows the newest transactions as a browser does: one stream for all tabs, of which one is visible and asks for
    /// its page at most twice a second. Ends when the task is cancelled.
    /// - Returns: the number of pages that were shown.
    func watch() async throws -> Int {
        var pages = 0
        do {
            let stream = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: "http://127.0.0.1:\(port)/console/events"), timeout: .seconds(600))
            guard stream.status == .ok else { throw BenchmarkError("the stream answered \(stream.status.code)") }
            for try await part in stream.body where String(buffer: part).contains("transactions") {
                _ = try await text("/sandbox/transactions")
                pages += 1
                try await Task.sleep(for: .milliseconds(500))
            }
        } catch  where Task.isCancelled {
            return pages
        }
        guard Task.isCancelled else { throw BenchmarkError("the stream of events ended") }
        return pages
    }

    private func text(_ path: String) async throws -> String {
        String(
            decoding: try await OneRequest.answer(port: port, request: LoadGenerator.get(path)), as: UTF8.self)
    }
}
