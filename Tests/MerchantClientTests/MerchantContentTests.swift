import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import MerchantClient

@Suite("Content from a merchant", .timeLimit(.minutes(1)))
struct MerchantContentTests {
    /// A client whose user has bought the first issue.
    private static func withReader(
        _ body: @escaping @Sendable (FakeMerchant, Device, EventLog, MerchantClient) async throws -> Void
    ) async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            merchant.change { $0.owners["1"] = "ape" }
            let client = try await device.launch(log)
            try await body(merchant, device, log, client)
            await client.close()
        }
    }

    @Test func `an interrupted download resumes`() async throws {
        try await Self.withReader { merchant, _, _, client in
            merchant.trouble(.contentFile(""), .cut(after: 10_000), .cut(after: 10_000))
            for received in [Int64(10_000), 20_000] {
                let error = await #expect(throws: MerchantClientError.self) { try await client.download("one") }
                #expect(error?.code == .unreachable)
                #expect(client.begunDownload(of: "one")?.received == received)
                #expect(client.newestContent(of: "one") == nil)
            }
            let content = try await client.download("one")
            #expect(try Data(contentsOf: content.file) == Data(sample(40_000)))
            #expect(client.begunDownload(of: "one") == nil)
            #expect(
                merchant.change { $0.requests }.filter { $0.contains("bytes=") }.map { $0.split(separator: " ").last }
                    == ["bytes=10000-", "bytes=20000-"])
            #expect(merchant.count(.redemptions) == 0)
        }
    }

    @Test func `bytes with another digest are discarded`() async throws {
        try await Self.withReader { merchant, _, _, client in
            merchant.trouble(.contentFile(""), .otherBytes)
            let error = await #expect(throws: MerchantClientError.self) { try await client.download("one") }
            #expect(error?.code == .wrongContent)
            #expect(client.newestContent(of: "one") == nil)
            _ = try await client.download("one")
        }
    }

    @Test func `a newer version is kept beside the older one`() async throws {
        try await Self.withReader { merchant, _, _, client in
            let first = try await client.download("one")
            #expect(try await client.outdated(among: ["one", "two"]) == [])
            merchant.publish("one", version: 2, sample(50_000, 7))
            #expect(try await client.outdated(among: ["one"]) == ["one"])
            let second = try await client.download("one")
            #expect(client.content(of: "one") == [first, second])
            #expect(try Data(contentsOf: first.file) == Data(sample(40_000)))
            try await client.removeOlderVersions(of: "one")
            #expect(client.content(of: "one") == [second])
            // The merchant was restored from a backup, and published another file as the same version.
            merchant.publish("one", version: 2, sample(50_000, 9))
            #expect(try await client.outdated(among: ["one"]) == ["one"])
            let replaced = try await client.download("one")
            #expect(client.content(of: "one") == [replaced] && replaced.digest != second.digest)
            #expect(try await client.outdated(among: ["one"]) == [])
            try await client.remove(replaced)
            #expect(client.newestContent(of: "one") == nil)
        }
    }

    @Test func `a version that is published during a download is used`() async throws {
        try await Self.withReader { merchant, _, _, client in
            merchant.trouble(.contentFile(""), .cut(after: 10_000))
            await #expect(throws: MerchantClientError.self) { try await client.download("one") }
            merchant.publish("one", version: 2, sample(30_000, 9))
            let content = try await client.download("one")
            #expect(content.version == 2)
            #expect(try Data(contentsOf: content.file) == Data(sample(30_000, 9)))
            // What came of the first one would lie there for ever.
            #expect(client.begunDownload(of: "one") == nil)
            let item = content.file.deletingLastPathComponent().deletingLastPathComponent()
            #expect(try FileManager.default.contentsOfDirectory(atPath: item.path) == ["2"])
        }
    }

    @Test func `existing content is not downloaded again`() async throws {
        try await Self.withReader { merchant, _, _, client in
            async let one = client.download("one")
            async let other = client.download("one")
            #expect(try await one == other)
            _ = try await client.download("one")
            #expect(merchant.count(.contentFile("")) == 1)
        }
    }

    @Test func `a paused download resumes on request`() async throws {
        try await Self.withReader { merchant, device, log, client in
            merchant.publish("one", sample(3_000_000))
            await client.close()
            // Paused at its first bytes.
            let next = try await device.launch(log) { configuration in
                let told = configuration.onEvent
                configuration.onEvent = { event in
                    told(event)
                    if case .downloading(let download) = event, download.received > 0 { log.note("some") }
                }
            }
            async let result = next.download("one")
            await log.told("some")
            await next.pauseDownload(of: "one")
            // At once: the paused one may not have ended yet, or have been done by then.
            let content = try await next.download("one")
            #expect(try Data(contentsOf: content.file) == Data(sample(3_000_000)))
            _ = try? await result
            await next.close()
        }
    }

    @Test func `a cancelled wait for a slot takes no slot`() async {
        let slots = DownloadSlots(1)
        #expect(await slots.take())
        let waiting = Task { await slots.take() }
        let next = Task { await slots.take() }
        waiting.cancel()
        #expect(await !waiting.value)
        await slots.give()
        #expect(await next.value)
        let late = Task { await slots.take() }
        late.cancel()
        #expect(await !late.value)
        await slots.give()
        #expect(await slots.take())
    }

    @Test(arguments: [403, 404, 410])
    func `bytes that a proxy refuses are requested again`(status: Int) async throws {
        try await Self.withReader { merchant, device, log, client in
            merchant.trouble(.contentFile(""), .status(status))
            let error = await #expect(throws: MerchantClientError.self) { try await client.download("one") }
            #expect(error?.code == .unreachable && error?.reason == nil)
            merchant.trouble(.contentFile(""), .status(status))
            await client.begin(device.buy("1"))
            await log.told("delivered one 1")
            #expect(log.lines.contains("not delivered one unreachable"))
            // The transaction is finished after the app was told of the delivery.
            try await until { device.finished == ["1"] }
        }
    }

    @Test func `bytes that the merchant refuses have the merchant's message`() async throws {
        try await Self.withReader { merchant, _, _, client in
            // The purchase is taken back after the file was described.
            merchant.trouble(.content(""), .otherBytes, .refuses(403, .revoked))
            merchant.trouble(.contentFile(""), .status(403))
            let error = await #expect(throws: MerchantClientError.self) { try await client.download("one") }
            #expect(error?.code == .refused && error?.reason == .revoked)
        }
    }

    @Test func `an item with the longest name is stored under a shorter one`() async throws {
        try await Self.withReader { merchant, _, _, client in
            for letter in ["a", "ж"] {
                let name = String(repeating: letter, count: MerchantLimits.identifier / letter.utf8.count)
                let item = ContentItemID(name)
                merchant.offer(ProductID(letter), .content(item))
                merchant.change {
                    $0.sold[letter] = ProductID(letter)
                    $0.owners[letter] = "ape"
                }
                merchant.publish(item, sample(100))
                let content = try await client.download(item)
                #expect(client.newestContent(of: item) == content)
            }
        }
    }

    @Test func `a token that expires during a download is replaced`() async throws {
        try await Self.withReader { merchant, device, _, client in
            merchant.trouble(.contentFile(""), .refuses(401, .notSignedIn))
            device.change { $0.tokens = ["token", "other"] }
            merchant.change { $0.tokens["other"] = "ape" }
            _ = try await client.download("one")
            #expect(device.change { $0.refusedTokens }.last == "token")
        }
    }

    @Test func `content without a purchase is refused, and with a purchase in the receipt it is redeemed`() async throws
    {
        try await withMerchant { merchant, device, log in
            let client = try await device.launch(log)
            let error = await #expect(throws: MerchantClientError.self) { try await client.download("one") }
            #expect(error?.reason == .notEntitled)
            #expect(error?.localizedDescription == "You have not bought this.")
            merchant.sell("1")
            try Data("1".utf8).write(to: device.folder.appendingPathComponent("receipt"))
            _ = try await client.download("one")
            let unknown = await #expect(throws: MerchantClientError.self) { try await client.download("three") }
            #expect(unknown?.reason == .unknownContent)
            await client.close()
        }
    }

    @Test(arguments: ["..", "../../escape", "a/b", "", ".", "%2e%2e"])
    func `an item's name cannot leave its folder`(name: String) throws {
        guard let file = FileNames.name(name) else {
            #expect(name.isEmpty)
            return
        }
        #expect(!file.contains("/") && !file.hasPrefix("."))
    }

    @Test func `stored names are distinct and bounded`() throws {
        #expect(FileNames.name("a.b-1_c") == "a.b-1_c")
        #expect(FileNames.name("a/b") != FileNames.name("a%2Fb"))
        let long = try #require(FileNames.name(String(repeating: "a", count: 201)))
        #expect(long.hasPrefix("=") && long.count == 65)
        #expect(FileNames.name(String(repeating: "a", count: 202)) != long)
    }
}
