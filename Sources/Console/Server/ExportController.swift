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
    var rows = 1_000
    /// The number of rows after which a file ends and says how to go on.
    var most = 1_000_000

    func addRoutes(to router: Router<ConsoleRequestContext>) {
        for format in [Format.csv, .json] {
            router.get(PageController.pattern("transactions.\(format.rawValue)")) { request, context in
                try await answer(try await controller.request(request, context, ""), format)
            }
        }
    }

    private func answer(_ page: PageRequest, _ format: Format) async throws -> Response {
        let name = "transactions-\(page.environment.name).\(format.rawValue)"
        // A filter that cannot be right is refused here, before the answer begins.
        let first = try await read(page, before: page.filter("before"))
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: format.begin))
            var (found, count, isFirst) = (first, 0, true)
            while true {
                var piece = ""
                for row in found.rows {
                    piece += try format.text(row, isFirst: isFirst)
                    isFirst = false
                }
                if !piece.isEmpty { try await writer.write(ByteBuffer(string: piece)) }
                count += found.rows.count
                guard let next = found.next else { break }
                guard count < most else {
                    let words = "The file ends after \(count) transactions. Add before=\(next) to its address to go on."
                    try await writer.write(ByteBuffer(string: try format.cut(words)))
                    break
                }
                found = try await read(page, before: next)
            }
            try await writer.write(ByteBuffer(string: format.end))
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [.contentType: format.type, .contentDisposition: "attachment; filename=\"\(name)\""], body: body)
    }

    private func read(_ page: PageRequest, before: String?) async throws -> ControlAPI.Page<ControlAPI.Transaction> {
        try await page.api.ask(
            .transactions(page.environment, TransactionPages.filter(page), before: before, limit: rows))
    }

    /// The format of a file; the raw value is the end of its name.
    private enum Format: String {
        case csv, json

        var type: String { self == .csv ? "text/csv; charset=utf-8" : "application/json" }
        var begin: String { self == .csv ? ExportController.heading : "[\n" }
        var end: String { self == .csv ? "" : "\n]\n" }

        func text(_ row: ControlAPI.Transaction, isFirst: Bool) throws -> String {
            switch self {
            case .csv: ExportController.line(row)
            case .json:
                (isFirst ? "" : ",\n") + String(decoding: try JSONEncoder.compact.encode(row), as: UTF8.self)
            }
        }

        /// The last line of a file without the rest of the ledger.
        func cut(_ words: String) throws -> String {
            switch self {
            case .csv: ExportController.field(words) + "\r\n"
            case .json: ",\n" + String(decoding: try JSONEncoder.compact.encode(["cut": words]), as: UTF8.self)
            }
        }
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
