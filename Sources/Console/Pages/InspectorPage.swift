import ConsolePages
import ControlWire
import CornerstoreEncoding
import Foundation
import StoreReceipts
import StoreWire

/// Takes a receipt apart, as `cornerstore receipt` does. Nothing is kept.
enum InspectorPage {
    static let routes = [PageRoute(path: "inspector", area: .inspector, make: make)]

    /// The largest receipt, in bytes.
    private static let most = 4 << 20

    static let actions = [
        // Base64 in a form takes up to three bytes for a character.
        ConsoleAction(
            path: "inspector", routes: [.device(.verifyReceipt)], page: "inspector", limit: 3 * most, perform: inspect)
    ]

    private static func form(_ request: PageRequest, receipt: String = "") -> ConsoleSection {
        var section = ConsoleSection("paste", "Receipt")
        section.forms = [
            ConsoleForm(
                action: request.action("inspector"),
                fields: [
                    ConsoleField(
                        "receipt", "Paste a receipt", .area, value: receipt,
                        hint:
                            "An app receipt or a receipt of iOS 6 in Base64, a JWS, or an answer of verifyReceipt; up to 4 MiB. Nothing is kept."
                    ),
                    ConsoleField(
                        "file", "Or choose its file, or drop it here", .file,
                        hint: "Also a binary receipt. The file counts."),
                    ConsoleField("bundle", "Must be for the bundle id", hint: "May be empty."),
                    ConsoleField("ask", "Also ask verifyReceipt", .tick, isOn: true),
                ], button: "Inspect")
        ]
        return section
    }

    @Sendable private static func make(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Inspector")
        page.commands = commands
        guard let id = request.filter("transaction") else {
            page.sections = [form(request)]
            return page
        }
        // A receipt of the store, made for the transaction or its account.
        let receipt: ControlAPI.Receipt
        if request.filter("kind") == "transaction" {
            receipt = try await request.api.ask(.transactionReceipt(request.environment, id: id))
        } else {
            let detail: ControlAPI.TransactionDetail = try await request.api.ask(
                .transaction(request.environment, id: id))
            receipt = try await request.api.ask(
                .appReceipt(
                    request.environment, email: detail.email ?? detail.transaction.accountId,
                    bundle: detail.transaction.bundleId))
        }
        page.sections =
            try await report(request, Array(receipt.receipt.utf8), bundle: nil, asks: true)
            + [form(request, receipt: receipt.receipt)]
        return page
    }

    private static let commands = [
        ConsoleCode("Show", "cornerstore receipt inspect receipt"),
        ConsoleCode("Verify", "cornerstore receipt verify receipt --bundle-id com.example.app"),
    ]

    @Sendable private static func inspect(_ action: ActionRequest) async throws -> ActionOutcome {
        let text = action.text("receipt") ?? ""
        guard action.file != nil || !text.isEmpty else {
            throw FormProblem("receipt", "Paste a receipt or choose its file.")
        }
        guard (action.file?.count ?? 0) <= most, text.utf8.count <= most / 3 * 4 + 4 else {
            throw FormProblem(action.file == nil ? "receipt" : "file", "The receipt is over 4 MiB.")
        }
        var page = ConsolePage("Inspector")
        page.commands = commands
        page.sections =
            try await report(
                action.page, action.file ?? Array(text.utf8), bundle: action.text("bundle"), asks: action.isOn("ask"))
            + [form(action.page, receipt: action.file == nil && text.utf8.count <= 200_000 ? text : "")]
        return .page(page)
    }

    private static func report(
        _ request: PageRequest, _ bytes: [UInt8], bundle: String?, asks: Bool
    ) async throws -> [ConsoleSection] {
        if bytes.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "{") {
            return answer(String(decoding: bytes, as: UTF8.self), request)
        }
        let input = ReceiptInput(bytes)
        let certificates = request.api.backends.certificates
        let report: ReceiptReport
        if let verifier = try? ReceiptVerifier(roots: certificates.roots, intermediates: certificates.intermediates),
            !certificates.roots.isEmpty
        {
            report = await ReceiptReport(
                verifying: input, by: verifier, expecting: ReceiptExpectation(bundleID: bundle))
        } else {
            report = ReceiptReport(inspecting: input)
        }
        if report.valid == true { try await noteInspection(request) }
        var sections = [verdict(report)]
        // Only a receipt that could be read tells its purchases. The payload of a JWS is shown as it is.
        if report.bundleId != nil, report.kind != .jws { sections.append(purchases(report, request)) }
        if let payload = report.payload {
            var section = ConsoleSection("payload", "Payload")
            section.codes = [ConsoleCode("JSON", payload.text)]
            sections.append(section)
        }
        if asks, input.kind == .app || input.kind == .transaction {
            sections.append(try await verifyReceipt(request, input))
        }
        return sections
    }

    /// Notes the last of the first steps. The receipt itself may be empty: finished consumables are not in it.
    private static func noteInspection(_ request: PageRequest) async throws {
        let file = request.api.backends.inspectedFile
        guard !request.memory.hasInspected(file) else { return }
        let bought: ControlAPI.Page<ControlAPI.Transaction> = try await request.api.ask(
            .transactions(.sandbox, limit: 1))
        if !bought.rows.isEmpty { request.memory.noteInspection(file) }
    }

    private static func verdict(_ report: ReceiptReport) -> ConsoleSection {
        var section = ConsoleSection("verdict", "Verdict")
        let (word, tone): (String, ConsoleTone) =
            switch report.valid {
            case true?: ("Genuine", .good)
            case false?: ("Refused: \(report.reason)", .bad)
            case nil: ("Not verified", .warn)
            }
        let kind =
            switch report.kind {
            case .app?: "App receipt"
            case .transaction?: "Transaction receipt of iOS 6"
            case .jws?: "Signed payload (JWS)"
            case nil: "Not recognized"
            }
        section.facts = [ConsoleFact("Verdict", word, note: report.detail, tone: tone), ConsoleFact("Kind", kind)]
        for (name, value, field) in [
            ("Environment", report.environment, "0"), ("Bundle id", report.bundleId, "2"),
            ("App version", report.applicationVersion, "3"), ("Made or bought", report.creationDate, "12"),
            ("First version", report.originalApplicationVersion, "19"),
            ("First got", report.originalPurchaseDate, "18"),
            ("Expires", report.expirationDate, "21"),
        ] {
            guard let value else { continue }
            section.facts.append(ConsoleFact(name, value, note: report.kind == .app ? "attribute \(field)" : nil))
        }
        return section
    }

    private static func purchases(_ report: ReceiptReport, _ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection("purchases", "Purchases in it")
        var table = ConsoleTable(
            "In-app purchases",
            [ConsoleColumn("Transaction"), ConsoleColumn("Product"), ConsoleColumn("Bought"), ConsoleColumn("Fields")],
            nothing: "The receipt contains no purchases.")
        for purchase in report.inApp.prefix(50) {
            let id = purchase["transaction_id"] ?? "—"
            let shown: Set = ["transaction_id", "product_id", "purchase_date", "purchase_date_ms", "purchase_date_pst"]
            let rest = purchase.filter {
                !shown.contains($0.key) && !$0.key.hasSuffix("_pst") && !$0.key.hasSuffix("_ms")
            }
            .sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
            table.add([
                ConsoleCell(id, link: id == "—" ? nil : request.link("transactions/\(id.percentEncoded)"), isID: true),
                ConsoleCell(purchase["product_id"] ?? "—"),
                ConsoleCell(purchase["purchase_date"]?.replacing(" Etc/GMT", with: "") ?? "—"),
                ConsoleCell(rest.joined(separator: "; ")),
            ])
        }
        if report.inApp.count > 50 { section.text = "The first 50 of \(report.inApp.count) purchases." }
        section.table = table
        return section
    }

    /// The answer of the store's `verifyReceipt` to the same bytes.
    private static func verifyReceipt(_ request: PageRequest, _ input: ReceiptInput) async throws -> ConsoleSection {
        var section = ConsoleSection("verify", "Answer of verifyReceipt")
        do {
            let question = VerifyReceiptRequest(receiptData: input.bytes, password: nil, excludeOldTransactions: false)
            let answer: VerifyAnswer = try await request.api.verifyReceipt(request.environment, question)
            section.facts = [
                ConsoleFact(
                    "Status", "\(answer.status)", note: meaning(answer.status), tone: answer.status == 0 ? .good : .bad)
            ]
            if answer.status == 21004 {
                section.text =
                    "The console sends no shared secret. Send the app's, which Settings shows, for receipts with subscriptions."
            }
        } catch let problem as APIProblem { section.warning = problem.message }
        return section
    }

    private struct VerifyAnswer: Decodable { var status: Int }

    /// An answer of `verifyReceipt` that was pasted.
    private static func answer(_ text: String, _ request: PageRequest) -> [ConsoleSection] {
        var section = ConsoleSection("verdict", "Answer of verifyReceipt")
        guard let payload = PayloadJSON(bytes: Array(text.utf8)) else {
            section.warning = "This begins like JSON and is not well-formed."
            return [section]
        }
        if let answer = try? JSONDecoder().decode(VerifyAnswer.self, from: Data(text.utf8)) {
            section.facts = [
                ConsoleFact(
                    "Status", "\(answer.status)", note: meaning(answer.status), tone: answer.status == 0 ? .good : .bad)
            ]
        } else {
            section.warning = "The JSON has no “status”, so it is not an answer of verifyReceipt."
        }
        section.codes = [ConsoleCode("The answer", String(payload.text.prefix(100_000)))]
        return [section]
    }

    /// The meaning of a status of `verifyReceipt`.
    static func meaning(_ status: Int) -> String {
        switch status {
        case 0: "The receipt is valid."
        case 21000: "The request was not a POST, or its body was unusable."
        case 21002: "The receipt's data is malformed, or the service failed for a moment."
        case 21003: "The receipt could not be authenticated."
        case 21004: "The shared secret does not match the app's."
        case 21005: "The receipt server was unavailable for a moment."
        case 21006: "The receipt is valid, but its subscription has expired."
        case 21007: "The receipt is of the sandbox. Ask the sandbox."
        case 21008: "The receipt is of production. Ask production."
        case 21009: "Internal data access error. Try again later."
        case 21010: "The account cannot be found or was deleted."
        case 21100...21199: "Internal data access errors. Try again later."
        default: "A status that Apple does not document."
        }
    }
}
