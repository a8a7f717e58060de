import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StoreWire

/// Writes the ledger as CSV or JSON, page by page, so that no answer is held in memory.
struct ExportController: Sendable {
    let controller: PageController
    /// The rows that one request to the control port gets.
    private static let rows = 1_000
    /// The largest number of rows of a file.
    private static let most = 1_000_000

    func addRoutes(to router: Router<ConsoleRequestContext>) {
        router.get(PageController.pattern("transactions.csv")) { request, context in
            let page = try await controller.request(request, context, "")
            return answer(page, "text/csv; charset=utf-8", "csv", begin: Self.heading, end: "") { row, _ in
                Self.line(row)
            }
        }
        router.get(PageController.pattern("transactions.json")) { request, context in
            let page = try await controller.request(request, context, "")
            return answer(page, "application/json", "json", begin: "[\n", end: "\n]\n") { row, isFirst in
                (isFirst ? "" : ",\n") + String(decoding: try JSONEncoder.compact.encode(row), as: UTF8.self)
            }
        }
    }

    private func answer(
        _ page: PageRequest, _ type: String, _ ending: String, begin: String, end: String,
        _ text: @escaping @Sendable (ControlAPI.Transaction, Bool) throws -> String
    ) -> Response {
        let name = "transactions-\(page.environment.name).\(ending)"
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: begin))
            var (before, count, isFirst): (String?, Int, Bool) = (nil, 0, true)
            repeat {
                let found: ControlAPI.Page<ControlAPI.Transaction> = try await page.api.ask(
                    .transactions(page.environment, TransactionPages.filter(page), before: before, limit: Self.rows))
                var piece = ""
                for row in found.rows {
                    piece += try text(row, isFirst)
                    isFirst = false
                }
                if !piece.isEmpty { try await writer.write(ByteBuffer(string: piece)) }
                count += found.rows.count
                before = found.next
            } while before != nil && count < Self.most
            try await writer.write(ByteBuffer(string: end))
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [.contentType: type, .contentDisposition: "attachment; filename=\"\(name)\""], body: body)
    }

    private static let heading =
        "transaction,original_transaction,account,app,product,kind,quantity,price,currency,purchased,expires,finished,refunded,reason\r\n"

    private static func line(_ row: ControlAPI.Transaction) -> String {
        [
            row.transactionId, row.originalTransactionId, row.accountId, row.bundleId, row.productId, row.kind,
            "\(row.quantity)", row.price, row.currency, row.purchaseDate, row.expiresDate ?? "", row.finishedDate ?? "",
            row.revocationDate ?? "", row.revocationReason ?? "",
        ].map(field).joined(separator: ",") + "\r\n"
    }

    /// A field of RFC 4180. A text that a spreadsheet would calculate gets an apostrophe.
    static func field(_ text: String) -> String {
        let isFormula = text.first.map { "=+-@\t\r".contains($0) } ?? false
        let safe = isFormula ? "'" + text : text
        return safe.contains { ",\"\r\n".contains($0) } ? "\"" + safe.replacing("\"", with: "\"\"") + "\"" : safe
    }
}
