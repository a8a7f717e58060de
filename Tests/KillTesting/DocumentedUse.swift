import Foundation
import KillTestApp
import MerchantServer
import MerchantWire
import StoreWire
import TestSupport

/// The example of `Documentation/SeveralProcesses.md` in use: devices, apps and a backend come through nginx, operators
/// and load balancers to each process.
struct DocumentedUse: Sendable {
    /// More than nginx takes without the page's block for content.
    private static let file = [UInt8](repeating: 0x2E, count: 17 << 20) + SampleContent.bytes(tail)
    /// The bytes at the end of the file that are downloaded.
    private static let tail = 64 << 10
    /// The longest time from a promotion until the store sells again, on a machine that runs other tests. The page
    /// promises 10 seconds, which ``FailoverRun`` holds it to.
    private static let longestPause = Duration.seconds(30)

    private let place: DocumentedPlace
    private let findings: Findings
    /// Signs for the login server.
    private let tokens: UserTokens
    /// The stores' control ports.
    private let control: PatientClient
    /// The merchants behind nginx.
    private let merchant: PatientClient
    /// Each merchant by itself.
    private let merchants: [PatientClient]

    init(_ place: DocumentedPlace) async throws {
        let findings = Findings()
        self.place = place
        self.findings = findings
        tokens = try UserTokens(try await .read(place.folder.appendingPathComponent("token-keys.json")))
        let adminToken = try String(contentsOf: place.folder.appendingPathComponent("admin-token"), encoding: .utf8)
        control = PatientClient(
            addresses: DocumentedPlace.machines.map { place.address(.control, at: $0) }, findings: findings,
            token: adminToken.trimmingCharacters(in: .whitespacesAndNewlines))
        merchant = PatientClient(addresses: [place.address(.merchant)], findings: findings)
        merchants = DocumentedPlace.machines.map {
            PatientClient(addresses: [place.address(.merchant, at: $0)], findings: findings)
        }
    }

    /// Does with the example what it is for, then crashes PostgreSQL's primary.
    /// - Returns: what is wrong, one sentence each.
    func run() async throws -> [String] {
        for machine in DocumentedPlace.machines { try await checkProcess(machine) }
        try await place.setNotifications()
        for environment in StoreEnvironment.allCases { try await checkNotifications(environment) }
        async let isUploaded: Void = upload()
        async let isShown: Void = visitStorefront()
        async let sandbox = shop(1, in: .sandbox)
        async let production = shop(2, in: .production)
        let (tester, customer) = try await (sandbox, production)
        _ = try await (isUploaded, isShown)
        try await failOver(tester, customer)
        return findings.all
    }

    // MARK: Processes

    private func checkProcess(_ machine: Int) async throws {
        let address = place.address(.control, at: machine)
        let settings = try await HTTPReply.fromCurrent {
            try await HTTPReply("GET", "\(address)/control/v1/settings", token: control.token)
        }
        findings.check(
            settings.json["node"] as? Int == machine, "process \(machine) has another number: \(settings.text)")
        let metrics = try await HTTPReply.eventually {
            try await HTTPReply("GET", "\(address)/metrics", token: control.token)
        } until: {
            $0.text.contains("store_processes 2\n")
        }
        findings.check(metrics.text.contains("store_processes 2\n"), "process \(machine) does not know the other")
        for server in [address, place.address(.merchant, at: machine)] {
            let ready = try await HTTPReply.eventually {
                try await HTTPReply("GET", "\(server)/ready")
            } until: {
                $0.status == 200
            }
            findings.check(ready.status == 200, "\(server) is not ready: \(ready.text)")
        }
    }

    /// All processes know the merchants' address, which one was told.
    private func checkNotifications(_ environment: StoreEnvironment) async throws {
        let expected = "\(place.address(.merchant))/notifications"
        for address in control.addresses {
            // JSON may escape the slashes.
            func isKnown(_ reply: HTTPReply) -> Bool { reply.text.replacing("\\/", with: "/").contains(expected) }
            // A process that hears late is not waited for.
            let receivers = try await HTTPReply.eventually {
                try await HTTPReply(
                    "GET", "\(address)/control/v1/\(environment.name)/notification-urls", token: control.token)
            } until: {
                isKnown($0)
            }
            findings.check(
                isKnown(receivers),
                "\(address) does not know the merchants' address in \(environment.name): \(receivers.text)")
        }
    }

    // MARK: Content, storefront and OCSP

    private func upload() async throws {
        let reply = try await HTTPReply(
            "PUT", place.address(.merchant) + MerchantRoute.putContent("novel").path,
            token: try await place.makeContentKey(), type: "application/epub+zip", body: Self.file)
        findings.check(
            reply.status == 201 && reply.json["digest"] as? String == KillTestApp.sha256(Self.file),
            "content was not taken in: \(reply.status) \(reply.text.prefix(200))")
    }

    private func visitStorefront() async throws {
        let answer = try await HTTPReply.fromCurrent {
            try await HTTPReply("GET", "\(place.address(.storefront))/lookup?id=1000")
        }
        let item = (answer.json["results"] as? [[String: Any]])?.first
        let link = item?["trackViewUrl"] as? String ?? ""
        findings.check(
            link.hasPrefix("\(place.address(.storefront))/"),
            "the item has another address than the storefront: \(answer.text.prefix(500))")
        guard !link.isEmpty else { return }
        let page = try await HTTPReply.fromCurrent { try await HTTPReply("GET", link) }
        findings.check(
            page.status == 200 && page.text.contains(DocumentedPlace.itemName),
            "the item's page: \(page.status) \(page.text.prefix(200))")
        // An empty request is answered, too.
        let ocsp = try await HTTPReply.fromCurrent {
            try await HTTPReply("POST", "\(place.address(.ocsp))/ocsp", type: "application/ocsp-request", body: [])
        }
        findings.check(
            ocsp.status == 200 && ocsp.headers["content-type"] == "application/ocsp-response",
            "there is no OCSP responder: \(ocsp.status) \(ocsp.headers)")
    }

    // MARK: Customers

    /// Buys credits, verifies and redeems the purchase, and gets a refund.
    private func shop(_ number: Int, in environment: StoreEnvironment) async throws -> ClusterCustomer {
        let device = PatientClient(addresses: [entrance(environment)], findings: findings)
        var customer = try await ClusterCustomer.signUp(number, device, control, in: environment)
        guard let transaction = try await buy("coins", for: &customer) else { return customer }
        try await verify(try await customer.receipt(), of: environment)
        try await redeem(transaction, of: customer)
        try await customer.finish(transaction)
        let redeemed = try await credits(of: customer, in: environment) { $0 == 100 }
        findings.check(redeemed == 100, "\(customer.email) redeemed 100 credits and has \(redeemed)")
        let refund = try await control.settle(
            "POST", "/control/v1/\(environment.name)/transactions/\(transaction)/refund", json: ["reason": "other"])
        findings.check(refund.status == 200, "no refund: \(refund.status) \(refund.text.prefix(200))")
        let left = try await credits(of: customer, in: environment) { $0 == 0 }
        findings.check(left == 0, "\(customer.email) has \(left) credits after a refund")
        return customer
    }

    private func buy(_ product: String, for customer: inout ClusterCustomer) async throws -> String? {
        let transaction = try await customer.buyUnfinished(product)
        if transaction == nil { findings.add("\(customer.email) could not buy: \(customer.refusal)") }
        return transaction
    }

    /// Asks both hosts about a receipt.
    private func verify(_ receipt: String, of environment: StoreEnvironment) async throws {
        for host in StoreEnvironment.allCases {
            let client = PatientClient(addresses: [entrance(host)], findings: findings)
            let reply = try await client.settle("POST", "/verifyReceipt", json: ["receipt-data": receipt])
            let expected = host == environment ? 0 : environment == .sandbox ? 21007 : 21008
            findings.check(
                reply.json["status"] as? Int == expected,
                "\(host.name) answers for a receipt of \(environment.name): \(reply.text.prefix(200))")
        }
    }

    /// Redeems a purchase through nginx, and again at each merchant, which gives the same answer.
    private func redeem(_ transaction: String, of customer: ClusterCustomer) async throws {
        let (receipt, token) = (try await customer.receipt(), try await token(of: customer))
        for client in [merchant] + merchants {
            let reply = try await client.settle(
                MerchantRoute.redemptions.method.rawValue, MerchantRoute.redemptions.path, token: token,
                json: ["receipt": receipt])
            let answer = try? reply.decoded(RedemptionAnswer.self)
            findings.check(
                answer?.confirms(transactionID: transaction) == true,
                "\(transaction) could not be redeemed at \(client.addresses): \(reply.status) \(reply.text.prefix(200))"
            )
        }
    }

    /// The balance that the merchants know, once it is right. A refund reaches them with a notification.
    private func credits(
        of customer: ClusterCustomer, in environment: StoreEnvironment, _ isRight: (Int64) -> Bool
    ) async throws -> Int64 {
        func amount(_ reply: HTTPReply) -> Int64 {
            (try? reply.decoded(BalanceList.self))?.amount(of: "coins") ?? -1
        }
        let token = try await token(of: customer)
        let reply = try await HTTPReply.eventually {
            try await merchant.settle("GET", MerchantRoute.balances(in: environment).path, token: token)
        } until: {
            isRight(amount($0))
        }
        return amount(reply)
    }

    private func entrance(_ environment: StoreEnvironment) -> String {
        switch environment {
        case .sandbox: place.address(.sandbox)
        case .production: place.address(.production)
        }
    }

    private func token(of customer: ClusterCustomer) async throws -> String {
        try await tokens.makeToken(for: UserID(rawValue: customer.user), at: Date())
    }

    // MARK: The end of the primary

    /// Crashes the primary and promotes the standby with the page's command: nothing is lost, and both databases take
    /// new purchases.
    private func failOver(_ tester: ClusterCustomer, _ customer: ClusterCustomer) async throws {
        var customer = customer
        try await place.pair.perform(.crash)
        try await place.pair.perform(.promote)
        let promotion = ContinuousClock.now
        guard let transaction = try await buy("novel", for: &customer) else { return }
        let pause = ContinuousClock.now - promotion
        print("The documented example sold again \(pause) after the promotion")
        findings.check(pause <= Self.longestPause, "the store sold again \(pause) after the promotion")
        try await redeem(transaction, of: customer)
        try await customer.finish(transaction)
        let token = try await token(of: customer)
        for client in merchants {
            let download = try await HTTPReply(
                "GET", client.addresses[0] + MerchantRoute.contentFile("novel").path, token: token,
                headers: [("Range", "bytes=-\(Self.tail)")])
            findings.check(
                download.status == 206 && download.body == Array(Self.file.suffix(Self.tail)),
                "\(client.addresses) does not deliver the content: \(download.status), \(download.body.count) bytes")
        }
        tester.compare(with: try await ledger(of: tester, in: .sandbox), findings)
        customer.compare(with: try await ledger(of: customer, in: .production), findings)
        for address in control.addresses {
            let ready = try await HTTPReply.eventually {
                try await HTTPReply("GET", "\(address)/ready")
            } until: {
                $0.json["reason"] as? String == "no_standby"
            }
            findings.check(
                ready.status == 503 && ready.json["reason"] as? String == "no_standby",
                "\(address) does not miss the standby: \(ready.text)")
        }
    }

    /// The ids of the customer's transactions.
    private func ledger(of customer: ClusterCustomer, in environment: StoreEnvironment) async throws -> [String] {
        let reply = try await control.settle(
            "GET", "/control/v1/\(environment.name)/transactions?account=\(customer.email)&limit=1000")
        let rows = reply.json["rows"] as? [[String: Any]] ?? []
        return rows.compactMap { $0["transactionId"] as? String }
    }
}
