import Foundation
import MerchantWire
import TestSupport
import Testing

@testable import MerchantClient

/// Runs a test with a merchant, and a device that knows it.
func withMerchant(
    _ body: @escaping @Sendable (FakeMerchant, Device, EventLog) async throws -> Void
) async throws {
    let merchant = FakeMerchant()
    merchant.offer("issue1", .content("one"))
    merchant.offer("gems", .credits("gems", amount: 5, lifetime: nil))
    merchant.publish("one", sample(40_000))
    try await TemporaryDirectory.with { directory in
        try await merchant.run { url in
            try await body(merchant, Device(folder: directory.url, merchant: url), EventLog())
        }
    }
}

func sample(_ count: Int, _ first: UInt8 = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31) &+ first }
}

@Suite("Redeeming at a merchant", .timeLimit(.minutes(1)))
struct MerchantClientTests {
    @Test func `a purchase is redeemed, delivered and finished`() async throws {
        try await withMerchant { merchant, device, log in
            let client = try await device.launch(log)
            merchant.sell("1")
            await client.begin(device.buy("1"))
            await log.told("finished 1")
            #expect(log.lines == ["redeemed 1", "delivered one 1", "finished 1"])
            #expect(device.finished == ["1"])
            let content = try #require(client.newestContent(of: "one"))
            #expect(try Data(contentsOf: content.file) == Data(sample(40_000)))
            #expect(content.mediaType == "text/plain")
            #expect(await client.isBusy == false)
            await client.close()
            let journal = device.folder.appendingPathComponent("client/redemptions").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: journal) == [])
        }
    }

    @Test func `with finishing after redemption, a purchase is finished at once and downloaded later`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            merchant.trouble(.contentFile(""), .status(503), .cut(after: 1000))
            let client = try await device.launch(log) { $0.finishing = .afterRedemption }
            await client.begin(device.buy("1"))
            await log.told("delivered one 1")
            #expect(log.lines.prefix(2) == ["redeemed 1", "finished 1"])
            #expect(merchant.change { $0.grants } == ["1": 1])
            #expect(merchant.change { $0.requests }.contains { $0.hasSuffix("bytes=1000-") })
            await client.close()
        }
    }

    @Test(arguments: [
        FakeMerchant.Trouble.lost, .status(500), .status(503), .status(429), .status(408), .garbage, .status(302),
        .status(404), .refuses(503, .storeUnavailable), .refuses(429, .rateLimited), .refuses(500, .internalError),
    ])
    func `a failing merchant is asked again later, and nothing is granted twice`(
        trouble: FakeMerchant.Trouble
    ) async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1", "gems")
            merchant.trouble(.redemptions, trouble, trouble, trouble)
            let client = try await device.launch(log)
            await client.begin(device.buy("1"))
            await log.told("finished 1")
            #expect(log.lines.count { $0.hasPrefix("waiting 1") } == 3, "\(log.lines)")
            #expect(device.change { $0.delays } == [1, 2, 4])
            #expect(merchant.change { $0.grants } == ["1": 1])
            await client.close()
        }
    }

    @Test func `the merchant's Retry-After is respected`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1", "gems")
            merchant.trouble(
                .redemptions, .status(429, retryAfter: 77), .status(503, retryAfter: 1_000_000),
                .status(503, retryAfter: -5))
            let client = try await device.launch(log)
            await client.begin(device.buy("1"))
            await log.told("finished 1")
            #expect(device.change { $0.delays } == [77, 3600, 4])
            await client.close()
        }
    }

    @Test(arguments: [
        (FakeMerchant.Trouble.refuses(422, .malformedReceipt), "malformed_receipt"),
        (.refuses(413, .tooLarge), "too_large"), (.refuses(403, .forbidden), "forbidden"),
        (.refuses(422, "some_new_code"), "some_new_code"),
    ])
    func `a refusal is reported, and the transaction stays`(trouble: FakeMerchant.Trouble, code: String) async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1", "gems")
            merchant.trouble(.redemptions, trouble)
            let client = try await device.launch(log)
            await client.begin(device.buy("1"))
            await log.told("refused 1 \(code)")
            #expect(device.finished.isEmpty)
            // Told again, as at the next launch.
            await client.begin(device.purchase("1"))
            await log.told("finished 1")
            await client.close()
        }
    }

    @Test func `a refused transaction has the merchant's message`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            merchant.change { $0.owners["1"] = "somebody else" }
            let client = try await device.launch(log)
            await client.begin(device.buy("1"))
            await log.told("refused 1 already_redeemed")
            let error = MerchantClientError(.refused, "", reason: .alreadyRedeemed)
            #expect(error.localizedDescription == "This purchase belongs to another user.")
            await client.close()
        }
    }

    @Test func `a refused token is replaced once for all waiting requests`() async throws {
        try await withMerchant { merchant, device, log in
            device.change { $0.tokens = ["stale", "token"] }
            let client = try await device.launch(log)
            for id in ["1", "2", "3"] {
                merchant.sell(id, "gems")
                await client.begin(device.buy(id))
            }
            for id in ["1", "2", "3"] { await log.told("finished \(id)") }
            #expect(device.change { $0.refusedTokens } == [nil, "stale"])
            await client.close()
        }
    }

    @Test func `without a user everything waits for a sign-in`() async throws {
        try await withMerchant { merchant, device, log in
            device.change { $0.tokens = [] }
            merchant.sell("1", "gems")
            let client = try await device.launch(log)
            await client.begin(device.buy("1"))
            await log.told("waiting 1 notSignedIn")
            #expect(await client.isBusy == false)
            device.change { $0.tokens = ["token"] }
            await client.userChanged()
            await log.told("finished 1")
            await client.close()
        }
    }

    @Test(arguments: ["", "with space", "with\r\nHeader: x", String(repeating: "a", count: 10_000)])
    func `a token that cannot be in a header is refused`(token: String) async throws {
        try await withMerchant { _, device, log in
            device.change { $0.tokens = [token, token] }
            let client = try await device.launch(log)
            let error = await #expect(throws: MerchantClientError.self) { try await client.balances() }
            #expect(error?.code == .notSignedIn)
            await client.close()
        }
    }

    @Test func `one answer settles all transactions of the app's receipt`() async throws {
        try await withMerchant { merchant, device, log in
            for id in ["1", "2"] { merchant.sell(id, "gems") }
            try Data("1,2".utf8).write(to: device.folder.appendingPathComponent("receipt"))
            let client = try await device.launch(log) { $0.evidence = .appReceipt }
            await client.begin(device.buy("1"))
            await log.told("finished 1")
            await client.begin(device.buy("2"))
            await log.told("finished 2")
            #expect(merchant.change { $0.grants } == ["1": 1, "2": 1])
            let answer = try await client.redeem(receipt: Data("1,2".utf8))
            #expect(answer.redeemed.count == 2)
            await client.close()
        }
    }

    @Test func `a receipt without the transaction is refreshed`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1", "gems")
            let client = try await device.launch(log)
            device.change { $0.queue.append("1") }
            await client.begin(device.purchase("1", receipt: "7"))
            await log.told("refused 1 noEvidence")
            await client.begin(device.purchase("1", receipt: ""))
            await log.told("refused 1 noEvidence", 2)
            await client.begin(device.purchase("1"))
            await log.told("finished 1")
            await client.close()
        }
    }

    @Test func `only one process can use the folder`() async throws {
        try await withMerchant { _, device, log in
            let client = try await device.launch(log)
            let error = #expect(throws: MerchantClientError.self) { try MerchantClient(device.configuration(log)) }
            #expect(error?.code == .inUse)
            await client.close()
            let next = try await device.launch(log)
            await next.close()
        }
    }

    @Test func `a damaged note is set aside`() async throws {
        try await withMerchant { merchant, device, log in
            let folder = device.folder.appendingPathComponent("client/redemptions")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("{".utf8).write(to: folder.appendingPathComponent("1.json"))
            merchant.sell("1", "gems")
            device.change { $0.queue = ["1"] }
            let client = try await device.launch(log)
            await log.told("finished 1")
            #expect(log.lines.first == "problem storage")
            #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("1.json.unreadable").path))
            await client.close()
        }
    }

    @Test func `a redemption that cannot be saved continues, and is finished after delivery`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            merchant.trouble(.contentFile(""), .status(503))
            let client = try await device.launch(log) { $0.finishing = .afterRedemption }
            // A folder that is a file takes no files, whoever asks.
            let folder = device.folder.appendingPathComponent("client/redemptions")
            try FileManager.default.removeItem(at: folder)
            try Data().write(to: folder)
            await client.begin(device.buy("1"))
            await log.told("delivered one 1")
            #expect(log.lines.filter { $0 == "problem storage" }.count == 2)
            #expect(device.finished.isEmpty)
            await client.begin(device.purchase("1"))
            await client.close()
        }
    }

    @Test(arguments: [
        "http://merchant.example.com", "ftp://localhost", "http://user@localhost", "http://localhost/?a=b",
        "http://127.0.0.1.example.com", "localhost", "http://",
    ])
    func `an invalid address, and one that would expose the token, is refused`(address: String) async throws {
        try await TemporaryDirectory.with { directory in
            let url = try #require(URL(string: address))
            var configuration = MerchantClientConfiguration(
                merchant: url, bundleIdentifier: "com.example.books", folder: directory.url
            ) { _ in "token" }
            let error = #expect(throws: MerchantClientError.self) { try MerchantClient(configuration) }
            #expect(error?.code == .notConfigured)
            configuration.allowsCleartext = true
            if address == "http://merchant.example.com" { await (try MerchantClient(configuration)).close() }
        }
    }
}
