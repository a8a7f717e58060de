import ConsolePages
import ControlWire
import Foundation
import MerchantWire
import StoreWire

/// The merchant's webhooks, payment sheets that wait, and the log of requests. The store's notifications have pages of
/// their own, ``ServerNotificationPages``.
enum NotificationPages {
    static let routes = [
        PageRoute(
            path: "notifications", area: .notifications, needsStore: false, topics: [.requests, .sheets], make: make),
        PageRoute(
            path: "webhooks/{event}", area: .notifications, needsStore: false, topics: [.transactions],
            make: WebhookParts.one),
    ]

    static let actions = [
        ConsoleAction(
            path: "webhooks/send", routes: [.merchant(.resendWebhook(""))], page: "notifications",
            change: "send a webhook again"
        ) { action in
            try await action.api.perform(MerchantRoute.resendWebhook(try action.required("event", "Event")))
            return .done("notifications", message: "The webhook is sent again.")
        },
        ConsoleAction(
            path: "webhooks/test", routes: [.merchant(.testWebhook)], page: "notifications",
            change: "send a test event"
        ) { action in
            let sent: SentWebhook = try await action.api.ask(MerchantRoute.testWebhook)
            return .done("notifications", message: "The test event \(sent.eventID) is on its way.")
        },
    ]

    @Sendable private static func make(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Notifications")
        if request.api.hasStore { page.sections.append(store(request)) }
        if request.api.hasMerchant { page.sections.append(try await WebhookParts.section(request)) }
        if request.api.hasStore {
            let ownNote = try await request.processes().map { _ in ProcessParts.ownNote }
            let waiting: [ControlAPI.WaitingSheet] = try await request.api.ask(.sheets)
            var sheets = sheets(request, waiting)
            sheets.text = ownNote
            let before = request.filter("before").flatMap { Int($0) }
            let log: [ControlAPI.LoggedRequest] = try await request.api.ask(.requests(before: before, limit: 50))
            var requests = requests(request, log, isFirst: before == nil)
            requests.text = [requests.text, ownNote].compactMap { $0 }.joined(separator: " ")
            page.sections += [sheets, requests]
        }
        page.commands = [
            ConsoleCode("Send a test event", "cornerstore merchant webhooks test"),
            ConsoleCode("Dead webhooks", "cornerstore merchant webhooks dead"),
        ]
        if request.api.hasStore {
            page.commands.append(ConsoleCode("Requests", request.curl(.requests(limit: 50))))
        }
        return page
    }

    private static func store(_ request: PageRequest) -> ConsoleSection {
        var section = ConsoleSection(
            "store", "App Store Server Notifications",
            text: "The store notifies each app's server of changes to purchases, as Apple does.")
        section.links = [
            ConsoleLink("Notifications and their URLs", request.link("server-notifications")),
            ConsoleLink("Failed notifications", request.link("server-notifications", [("state", "failed")])),
        ]
        return section
    }

    private static func sheets(_ request: PageRequest, _ sheets: [ControlAPI.WaitingSheet]) -> ConsoleSection {
        var section = ConsoleSection("sheets", "Payment sheets that wait", isLive: true)
        var table = ConsoleTable(
            "Open sheets",
            [ConsoleColumn("Sheet"), ConsoleColumn("Kind"), ConsoleColumn("Customer"), ConsoleColumn("Waits since")],
            nothing: "No open payment sheets. Start an app that shows its payment sheet on a web page:",
            command: "CORNERSTORE_SHEET=web monkey-credits")
        for sheet in sheets.prefix(50) {
            table.add([
                ConsoleCell(sheet.title, link: request.api.backends.addresses.base("control") + sheet.path),
                ConsoleCell(sheet.kind), ConsoleCell(sheet.account ?? "—"),
                ConsoleCell(Moments.span(UInt64(max(0, sheet.age)))),
            ])
        }
        section.table = table
        return section
    }

    private static func requests(
        _ request: PageRequest, _ log: [ControlAPI.LoggedRequest], isFirst: Bool
    ) -> ConsoleSection {
        var section = ConsoleSection(
            "requests", "Requests",
            text:
                "The last verifyReceipt requests and refused requests, without bodies. They are kept while the server runs.",
            isLive: isFirst)
        var table = ConsoleTable(
            "Requests, newest first",
            [
                ConsoleColumn("When"), ConsoleColumn("Request"), ConsoleColumn("Store"), ConsoleColumn("Status"),
                ConsoleColumn("Reason"),
            ],
            nothing: "No requests yet. Send the first one:",
            command: PageRequest.curl(
                .post, request.api.backends.addresses.base(request.environment.name) + StoreRoute.verifyReceipt.path,
                #"{"receipt-data":""}"#))
        for entry in log.prefix(50) {
            let isBad = entry.status >= 400 || (entry.receiptStatus ?? 0) != 0
            table.add([
                request.machineMoments.cell(entry.date), ConsoleCell("\(entry.method) \(entry.route)"),
                ConsoleCell(entry.environment ?? "—"),
                ConsoleCell(
                    entry.receiptStatus.map { "\(entry.status), receipt \($0)" } ?? "\(entry.status)",
                    tone: isBad ? .bad : .good),
                ConsoleCell(entry.code ?? "—", note: entry.reason),
            ])
        }
        if log.count == 50, let last = log.last {
            table.next = request.link("notifications", [("before", "\(last.number)")]) + "#requests"
        }
        if !isFirst { table.first = request.link("notifications") + "#requests" }
        section.table = table
        return section
    }
}
