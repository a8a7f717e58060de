import AsyncHTTPClient
import Foundation
import MerchantWire
import NIOCore
import StoreWire

/// The steps with Server Books: a merchant's shelf, a purchase that it delivers, a new issue, a kill before it has confirmed; then credits of
/// another app, and the merchant's books.
extension DemoSteps {
    private static let issueApp: BundleID = "com.example.serverbooks"
    private static let reader = "reader"

    func fillShelf() async throws {
        teller.begin("The merchant, which is the app's own server, fills its shelf")
        teller.explain("It has a list of products. Its backend gives it the files, with a key of its own:")
        for issue in ["issue-1", "issue-2"] { try await publish(issue) }
        teller.explain("Whoever reads is known to it by a token, of the app's own sign-in:")
        teller.show("cornerstore merchant token --user \(Self.reader) > reader-token")
        let token = try await cornerstore(["merchant", "token", "--user", Self.reader])
        try teller.check("the reader has a token", token.status == 0 && !token.output.isEmpty, token.errors)
        let file = places.path("reader-token").path
        unlink(file)
        guard
            FileManager.default.createFile(
                atPath: file, contents: Data(token.output.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError(.failed, "\(file) cannot be written.") }
        let list = try await browse()
        try teller.check(
            "the shelf is the merchant's, the prices are the store's",
            list == "issue1  The Ferry  $1.99\nissue2  The Orchard  $1.99\n", list)
    }

    func buyIssue() async throws {
        teller.begin("An issue is bought, and the merchant delivers it")
        let known = try await transactions()
        teller.show("server-books --buy issue1")
        let bought = try await magazine.run(["--buy", "issue1"])
        teller.show(bought.all)
        try teller.check(
            "it is downloaded, and the reader's",
            bought.status == 0 && bought.output.contains("issue-1: 100 %")
                && bought.output.contains("issue-1 is yours, in version 1."), "\(bought.status): \(bought.all)")
        try await isReadable("issue1", "issue-1")
        let new = try await transactions().filter { !known.contains($0) }
        try teller.check(
            "the store has one more transaction, finished after the delivery",
            new.count == 1 && new[0].price == "1.99" && new[0].finishedDate != nil, "\(new)")
        let again = try await magazine.run(["--buy", "issue1"])
        teller.show(again.all)
        try teller.check(
            "what is the reader's is not sold again", again.output == "The Ferry is yours already.\n", again.all)
    }

    func sellNewIssue() async throws {
        teller.begin("A new issue comes out, and the app is the same")
        teller.explain("The merchant's list gets a third product, while everything runs:")
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
            "the app shows it, with its price, and what was bought as bought",
            list.hasPrefix("issue1  The Ferry  yours, version 1\n") && list.hasSuffix("\nissue3  The Bell  $2.99\n"),
            list)
        teller.show("server-books --buy issue3")
        let bought = try await magazine.run(["--buy", "issue3"])
        teller.show(bought.all)
        try teller.check("it is bought as any other", bought.status == 0, "\(bought.status): \(bought.all)")
        try await isReadable("issue3", "issue-3")
    }

    func crashBeforeConfirmation() async throws {
        teller.begin("The app is killed between the purchase and the merchant's confirmation")
        let known = try await transactions()
        teller.show("server-books --buy issue2 --crash-at purchased")
        let killed = try await magazine.run(["--buy", "issue2", "--crash-at", "purchased"])
        teller.show(killed.all)
        try teller.check("the app ended hard", killed.status == 9, "\(killed.status): \(killed.all)")
        let new = try await transactions().filter { !known.contains($0) }
        try teller.check("it is paid for, and unfinished", new.count == 1 && new[0].finishedDate == nil, "\(new)")
        let before = try await contents()
        try teller.check("the merchant does not know of it", before == ["issue-1", "issue-3"], "\(before)")
        teller.explain("The next launch asks nobody anything, and goes on:")
        teller.show("server-books --download")
        let done = try await magazine.run(["--download"], sheet: "decline")
        teller.show(done.all)
        try teller.check(
            "the issue is delivered", done.status == 0 && done.output.contains("issue-2 is yours, in version 1."),
            "\(done.status): \(done.all)")
        try await isReadable("issue2", "issue-2")
        let after = try await transactions()
        try teller.check(
            "its transaction is finished, and no other was made",
            after.count == known.count + 1
                && after.first { $0.transactionId == new[0].transactionId }?.finishedDate != nil,
            "\(after)")
    }

    func sellCredits() async throws {
        teller.begin("The merchant keeps credits, and each is spent once")
        teller.explain("Another app's credits are put on its list:")
        let product: ProductID = "com.example.monkeys.credits10"
        let listed = #"{"kind": "consumable", "grants": [{"credits": 10, "currency": "bananas"}]}"#
        let route = MerchantRoute.putProduct("com.example.monkeys", product)
        let merchant = addresses.merchant ?? ""
        teller.show(
            "curl -X PUT -H \"Authorization: Bearer $KEY\" -H \"Content-Type: application/json\" \\\n"
                + "  -d '\(listed)' \(merchant)\(route.path)")
        let key = try await backendKey()
        _ = try await ask(route, Array(listed.utf8), type: "application/json", bearer: key)
        teller.explain("They are bought, here from the shell, and the receipt is redeemed:")
        let receipt = places.path("credits.receipt").path
        teller.show("cornerstore buy \(product) --receipt-out credits.receipt")
        let bought = try await cornerstore(["buy", product.rawValue, "--receipt-out", receipt])
        teller.show(bought.output)
        try teller.check("they are bought", bought.status == 0, "\(bought.status): \(bought.all)")
        teller.show(
            "curl -H \"Authorization: Bearer $(cat reader-token)\" -H \"Content-Type: application/octet-stream\" \\\n"
                + "  --data-binary @credits.receipt \(merchant)\(MerchantRoute.redemptions.path)")
        let bytes = try BoundedInput.read(receipt, limit: 1 << 20, what: "receipt")
        _ = try await ask(.redemptions, bytes, type: "application/octet-stream")
        let balance = try decode(BalanceList.self, try await ask(.balances()))
        try teller.check("the reader has 10 bananas", balance.amount(of: "bananas") == 10, "\(balance)")
        teller.explain("Three are spent. The app has lost the answer, and asks again with the same key:")
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
            "they were spent once, and 7 are left", left.amount(of: "bananas") == 7 && first == second, "\(left)")
    }

    func askTwice() async throws {
        teller.begin("The merchant is asked twice, and its books balance")
        teller.explain("Somebody sends the app's receipt again, two times, by hand:")
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
            "the answer is what it was, to the byte", answer.redeemed.count == 3 && first == second,
            "\(answer.redeemed.map(\.productID))")
        let owned = try await contents()
        try teller.check("and nothing was given twice", owned == ["issue-1", "issue-2", "issue-3"], "\(owned)")
        teller.show("cornerstore merchant check")
        let check = try await cornerstore(["merchant", "check"])
        teller.show(check.all)
        try teller.check(
            "the books balance, with the 7 bananas in them",
            check.status == 0
                && check.output == "1 account, 2 entries; users have 7 bananas (sandbox).\nThe books balance.\n",
            check.all)
    }

    // MARK: What several steps do

    /// Puts an issue's file in, as the merchant's backend does.
    private func publish(_ issue: String) async throws {
        let file = places.serverBooks.appendingPathComponent("Issues/\(issue).txt")
        let key = try await backendKey()
        let route = MerchantRoute.putContent(ContentItemID(issue))
        teller.show(
            "curl -X PUT -H \"Authorization: Bearer $KEY\" -H \"Content-Type: text/plain\" \\\n"
                + "  --data-binary @\(file.lastPathComponent) \(addresses.merchant ?? "")\(route.path)")
        let bytes = try BoundedInput.read(file.path, limit: 1 << 20, what: "issue")
        let kept = try decode(ContentVersion.self, try await ask(route, bytes, type: "text/plain", bearer: key))
        try teller.check("\(issue) is kept, as version 1", kept.version == 1 && kept.size == bytes.count, "\(kept)")
    }

    /// Made once, and kept in the demonstration's folder.
    private func backendKey() async throws -> String {
        let file = places.path("backend-key").path
        if let kept = FileManager.default.contents(atPath: file) { return String(decoding: kept, as: UTF8.self) }
        teller.show("KEY=$(cornerstore merchant key make demo --scope products --scope content)")
        let made = try await cornerstore([
            "merchant", "key", "make", "demo", "--scope", "products", "--scope", "content",
        ])
        try teller.check("the key is made, and shown this once", made.status == 0, made.errors)
        let key = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        guard
            FileManager.default.createFile(
                atPath: file, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError(.failed, "\(file) cannot be written.") }
        return key
    }

    /// What the app lists.
    private func browse() async throws -> String {
        teller.show("server-books --list")
        let list = try await magazine.run(["--list"])
        teller.show(list.all)
        return list.output
    }

    private func isReadable(_ name: String, _ issue: String) async throws {
        let read = try await magazine.run(["--read", name])
        let lines = read.output.split(separator: "\n")
        teller.show((lines.prefix(3) + (lines.count > 3 ? ["…"] : [])).joined(separator: "\n"))
        let original = try? String(
            contentsOf: places.serverBooks.appendingPathComponent("Issues/\(issue).txt"), encoding: .utf8)
        try teller.check("it can be read, to the letter", read.output == original, read.all)
    }

    /// The files that the merchant's books say are the reader's.
    private func contents() async throws -> [String] {
        try decode(EntitlementList.self, try await ask(.entitlements)).entitlements
            .compactMap { $0.content?.rawValue }.sorted()
    }

    /// Asks the merchant: as the reader, unless with a key.
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
            throw CommandError(.failed, "The merchant answered HTTP \(answer.status) to \(route.path).")
        }
        return answer.body
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ data: Data) throws -> Value {
        do { return try JSONDecoder().decode(type, from: data) } catch {
            throw CommandError(.failed, "The merchant's answer is not what this version of cornerstore knows.")
        }
    }
}
