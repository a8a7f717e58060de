import AsyncHTTPClient
import Foundation
import MerchantWire
import NIOCore
import StoreWire

/// The steps with Server Books: the merchant's products, a delivered purchase, a new issue, and a crash before the
/// merchant confirms a purchase. Then the steps with another app's credits and the merchant's ledger.
extension DemoSteps {
    private static let issueApp: BundleID = "com.example.serverbooks"
    private static let reader = "reader"

    func fillShelf() async throws {
        teller.begin("The app's own server, the merchant, gets its content")
        teller.explain("The merchant has a list of products. Its backend uploads the files with an API key:")
        for issue in ["issue-1", "issue-2"] { try await publish(issue) }
        teller.explain("A token of the app's own sign-in tells the merchant who the user is:")
        teller.show("cornerstore merchant token --user \(Self.reader) > reader-token")
        let token = try await cornerstore(["merchant", "token", "--user", Self.reader])
        try teller.check("the reader has a token", token.status == 0 && !token.output.isEmpty, token.errors)
        let file = places.path("reader-token").path
        unlink(file)
        guard
            FileManager.default.createFile(
                atPath: file, contents: Data(token.output.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError(.failed, "Cannot write \(file).") }
        let list = try await browse()
        try teller.check(
            "the app shows the merchant's products with the store's prices",
            list == "issue1  The Ferry  $1.99\nissue2  The Orchard  $1.99\n", list)
    }

    func buyIssue() async throws {
        teller.begin("The reader buys an issue, and the merchant delivers it")
        let known = try await transactions()
        teller.show("server-books --buy issue1")
        let bought = try await bookStand.run(["--buy", "issue1"])
        teller.show(bought.all)
        try teller.check(
            "the issue is downloaded and belongs to the reader",
            bought.status == 0 && bought.output.contains("issue-1: 100 %")
                && bought.output.contains("issue-1 is yours, in version 1."), "\(bought.status): \(bought.all)")
        try await isReadable("issue1", "issue-1")
        let new = try await transactions().filter { !known.contains($0) }
        try teller.check(
            "the store has one new transaction, finished after the delivery",
            new.count == 1 && new[0].price == "1.99" && new[0].finishedDate != nil, "\(new)")
        let again = try await bookStand.run(["--buy", "issue1"])
        teller.show(again.all)
        try teller.check(
            "the app does not sell the issue again", again.output == "The Ferry is yours already.\n", again.all)
    }

    func sellNewIssue() async throws {
        teller.begin("A new issue is published without an update of the app")
        teller.explain("The backend adds a third product to the merchant's list:")
        try await publish("issue-3")
        let product = #"{"kind": "nonConsumable", "grants": [{"content": "issue-3"}]}"#
        let route = MerchantRoute.putProduct(Self.issueApp, "com.example.serverbooks.issue3")
        teller.show(
            "curl -X PUT -H \"Authorization: Bearer $KEY\" -H \"Content-Type: application/json\" \\\n"
                + "  -d '\(product)' \(addresses.merchant ?? "")\(route.path)")
        let key = try await backendKey()
        _ = try await ask(route, Array(product.utf8), type: "application/json", bearer: key)
        let list = try await browse()
        try teller.check(
            "the app shows the new issue with its price, and the bought issue as bought",
            list.hasPrefix("issue1  The Ferry  yours, version 1\n") && list.hasSuffix("\nissue3  The Bell  $2.99\n"),
            list)
        teller.show("server-books --buy issue3")
        let bought = try await bookStand.run(["--buy", "issue3"])
        teller.show(bought.all)
        try teller.check("the purchase succeeds", bought.status == 0, "\(bought.status): \(bought.all)")
        try await isReadable("issue3", "issue-3")
    }

    func crashBeforeConfirmation() async throws {
        teller.begin("The app is killed between the purchase and the merchant's confirmation")
        let known = try await transactions()
        teller.show("server-books --buy issue2 --crash-at purchased")
        let killed = try await bookStand.run(["--buy", "issue2", "--crash-at", "purchased"])
        teller.show(killed.all)
        try teller.check("the app was killed", killed.status == 9, "\(killed.status): \(killed.all)")
        let new = try await transactions().filter { !known.contains($0) }
        try teller.check("the purchase is paid and unfinished", new.count == 1 && new[0].finishedDate == nil, "\(new)")
        teller.explain("The app could not tell the merchant of the purchase. The store does:")
        var told = try await contents()
        for _ in 0..<600 where told.count < 3 {
            try await Task.sleep(for: .milliseconds(50))
            told = try await contents()
        }
        try teller.check(
            "the merchant has granted the issue by the store's notification",
            told == ["issue-1", "issue-2", "issue-3"],
            "\(told)")
        teller.explain("The next launch continues without a payment sheet:")
        teller.show("server-books --download")
        let done = try await bookStand.run(["--download"], sheet: "decline")
        teller.show(done.all)
        try teller.check(
            "the issue is delivered", done.status == 0 && done.output.contains("issue-2 is yours, in version 1."),
            "\(done.status): \(done.all)")
        try await isReadable("issue2", "issue-2")
        let after = try await transactions()
        try teller.check(
            "the transaction is finished, and there is no other new transaction",
            after.count == known.count + 1
                && after.first { $0.transactionId == new[0].transactionId }?.finishedDate != nil,
            "\(after)")
    }

    func sellCredits() async throws {
        teller.begin("The merchant keeps credits, and a repeated spend counts once")
        teller.explain("The backend adds another app's credits to the merchant's list:")
        let product: ProductID = "com.example.monkeys.credits10"
        let listed = #"{"kind": "consumable", "grants": [{"credits": 10, "currency": "bananas"}]}"#
        let route = MerchantRoute.putProduct("com.example.monkeys", product)
        let merchant = addresses.merchant ?? ""
        teller.show(
            "curl -X PUT -H \"Authorization: Bearer $KEY\" -H \"Content-Type: application/json\" \\\n"
                + "  -d '\(listed)' \(merchant)\(route.path)")
        let key = try await backendKey()
        _ = try await ask(route, Array(listed.utf8), type: "application/json", bearer: key)
        teller.explain("The player buys the credits, here from the shell, and redeems the receipt:")
        let receipt = places.path("credits.receipt").path
        teller.show("cornerstore buy \(product) --receipt-out credits.receipt")
        let bought = try await cornerstore(["buy", product.rawValue, "--receipt-out", receipt])
        teller.show(bought.output)
        try teller.check("the purchase succeeds", bought.status == 0, "\(bought.status): \(bought.all)")
        teller.show(
            "curl -H \"Authorization: Bearer $(cat reader-token)\" -H \"Content-Type: application/octet-stream\" \\\n"
                + "  --data-binary @credits.receipt \(merchant)\(MerchantRoute.redemptions.path)")
        let bytes = try BoundedInput.read(receipt, limit: 1 << 20, what: "receipt")
        _ = try await ask(.redemptions, bytes, type: "application/octet-stream")
        let balance = try decode(BalanceList.self, try await ask(.balances()))
        try teller.check("the reader has 10 bananas", balance.amount(of: "bananas") == 10, "\(balance)")
        teller.explain(
            "The app spends three credits, loses the response, and repeats the request with the same idempotency key:")
        let spend = #"{"key": "cake", "currency": "bananas", "amount": 3}"#
        teller.show(
            "curl -H \"Authorization: Bearer $(cat reader-token)\" -H \"Content-Type: application/json\" \\\n"
                + "  -d '\(spend)' \(merchant)\(MerchantRoute.spends.path)")
        let first = try await ask(.spends, Array(spend.utf8), type: "application/json")
        teller.show(String(decoding: first, as: UTF8.self))
        let second = try await ask(.spends, Array(spend.utf8), type: "application/json")
        teller.show(String(decoding: second, as: UTF8.self))
        let left = try decode(BalanceList.self, try await ask(.balances()))
        try teller.check(
            "the credits were spent once, and 7 bananas are left", left.amount(of: "bananas") == 7 && first == second,
            "\(left)")
    }

    func askTwice() async throws {
        teller.begin("The same receipt is redeemed again, and the ledger balances")
        teller.explain("Someone sends the app's receipt to the merchant two more times:")
        teller.show(
            "curl -H \"Authorization: Bearer $(cat reader-token)\" -H \"Content-Type: application/octet-stream\" \\\n"
                + "  --data-binary @sandboxReceipt \(addresses.merchant ?? "")\(MerchantRoute.redemptions.path)")
        let receipt = places.path("device/apps/\(Self.issueApp)/sandboxReceipt").path
        let bytes = try BoundedInput.read(receipt, limit: 1 << 20, what: "receipt")
        let type = "application/octet-stream"
        let first = try await ask(.redemptions, bytes, type: type)
        let second = try await ask(.redemptions, bytes, type: type)
        let answer = try decode(RedemptionAnswer.self, first)
        teller.show(answer.redeemed.map { "\($0.productID)  redeemed" }.joined(separator: "\n"))
        try teller.check(
            "both responses are identical, byte for byte", answer.redeemed.count == 3 && first == second,
            "\(answer.redeemed.map(\.productID))")
        let owned = try await contents()
        try teller.check("nothing was granted twice", owned == ["issue-1", "issue-2", "issue-3"], "\(owned)")
        teller.show("cornerstore merchant check")
        let check = try await cornerstore(["merchant", "check"])
        teller.show(check.all)
        try teller.check(
            "the ledger balances and contains the 7 bananas",
            check.status == 0
                && check.output == "1 account, 2 entries; users have 7 bananas (sandbox).\nThe books balance.\n",
            check.all)
    }

    // MARK: Helpers of several steps

    /// Uploads an issue's file to the merchant, as its backend does.
    private func publish(_ issue: String) async throws {
        let file = places.serverBooks.appendingPathComponent("Issues/\(issue).txt")
        let key = try await backendKey()
        let route = MerchantRoute.putContent(ContentItemID(issue))
        teller.show(
            "curl -X PUT -H \"Authorization: Bearer $KEY\" -H \"Content-Type: text/plain\" \\\n"
                + "  --data-binary @\(file.lastPathComponent) \(addresses.merchant ?? "")\(route.path)")
        let bytes = try BoundedInput.read(file.path, limit: 1 << 20, what: "issue")
        let kept = try decode(ContentVersion.self, try await ask(route, bytes, type: "text/plain", bearer: key))
        try teller.check(
            "the merchant stores \(issue) as version 1", kept.version == 1 && kept.size == bytes.count, "\(kept)")
    }

    /// Returns the backend's API key. The first call creates it and keeps it in the demo's folder.
    private func backendKey() async throws -> String {
        let file = places.path("backend-key").path
        if let kept = FileManager.default.contents(atPath: file) { return String(decoding: kept, as: UTF8.self) }
        teller.show("KEY=$(cornerstore merchant key make demo --scope products --scope content)")
        let made = try await cornerstore([
            "merchant", "key", "make", "demo", "--scope", "products", "--scope", "content",
        ])
        try teller.check("the key is created and shown once", made.status == 0, made.errors)
        let key = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        guard
            FileManager.default.createFile(
                atPath: file, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError(.failed, "Cannot write \(file).") }
        return key
    }

    /// Returns the list that the app prints.
    private func browse() async throws -> String {
        teller.show("server-books --list")
        let list = try await bookStand.run(["--list"])
        teller.show(list.all)
        return list.output
    }

    private func isReadable(_ name: String, _ issue: String) async throws {
        let read = try await bookStand.run(["--read", name])
        let lines = read.output.split(separator: "\n")
        teller.show((lines.prefix(3) + (lines.count > 3 ? ["…"] : [])).joined(separator: "\n"))
        let original = try? String(
            contentsOf: places.serverBooks.appendingPathComponent("Issues/\(issue).txt"), encoding: .utf8)
        try teller.check("the issue's text is identical to the original", read.output == original, read.all)
    }

    /// Returns the content items that the reader is entitled to at the merchant.
    private func contents() async throws -> [String] {
        try decode(EntitlementList.self, try await ask(.entitlements)).entitlements
            .compactMap { $0.content?.rawValue }.sorted()
    }

    /// Sends a request to the merchant, with the reader's token or with `bearer`.
    private func ask(
        _ route: MerchantRoute, _ body: [UInt8]? = nil, type: String = "", bearer: String? = nil
    ) async throws -> Data {
        let token = try bearer ?? String(contentsOf: places.path("reader-token"), encoding: .utf8)
        let answer = try await PlainHTTP.send(
            route.method.rawValue, (addresses.merchant ?? "") + route.path,
            body: body.map { .bytes(ByteBuffer(bytes: $0)) },
            headers: [("Authorization", "Bearer " + token.trimmingCharacters(in: .whitespacesAndNewlines))]
                + (body == nil ? [] : [("Content-Type", type)]),
            limit: 1 << 20, timeout: .seconds(60))
        guard (200..<300).contains(answer.status) else {
            throw CommandError(.failed, "The merchant answered \(route.path) with HTTP \(answer.status).")
        }
        return answer.body
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ data: Data) throws -> Value {
        do { return try JSONDecoder().decode(type, from: data) } catch {
            throw CommandError(
                .failed, "Cannot read the merchant's response. Use the same version of cornerstore as the server.")
        }
    }
}
