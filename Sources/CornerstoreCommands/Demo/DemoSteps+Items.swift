import Foundation
import StoreWire

/// The steps with Cross Promotion: the storefront's items are found, shown, bought and reviewed.
extension DemoSteps {
    private static let otherApp = "https://apps.apple.com/us/app/photo-filters/id1400000002"
    private static let songs = ["First Branch", "Swing Low Leaf", "Night over the Canopy"]

    func findItems() async throws {
        teller.begin("An app finds items of the storefront")
        teller.explain("The storefront is at \(addresses.storefront). The app searches it as it would search Apple's:")
        let found = try await promote(["--find", "gibbons"])
        try teller.check(
            "the search finds the three songs",
            found.status == 0 && Self.songs.allSatisfy(found.output.contains), found.all)
        let link = try await promote(["--look-up", Self.otherApp])
        try teller.check(
            "a link leads to the other app, which has no ratings",
            link.status == 0 && link.output == "1400000002  Photo Filters, by Example Pictures\n", link.all)
    }

    func showOtherApp() async throws {
        teller.begin("The app shows the page of another app")
        let shown = try await promote(["--app"], sheet: "decline")
        try teller.check(
            "the page has the name and the price, and the user returns to the app",
            shown.status == 0 && shown.all.contains("Photo Filters  $1.99")
                && shown.output.contains("Back in Cross Promotion."), shown.all)
        try teller.check("nothing was bought", try await library().isEmpty)
        teller.explain("On systems before iOS 6, an app opens the item's link instead:")
        let old = try await promote(["--film", "--links"])
        let page = old.output.split(separator: " ").last.map { $0.trimmingCharacters(in: .newlines) } ?? ""
        let answer = try await PlainHTTP.send("GET", page, body: nil, limit: 1 << 20)
        try teller.check(
            "the link leads to the film's page", String(decoding: answer.body, as: UTF8.self).contains("The Keeper"),
            "\(answer.status) at \(page)")
    }

    func buySongs() async throws {
        teller.begin("The user buys the songs of a playlist without leaving the app")
        let bought = try await promote(["--playlist"])
        try teller.check(
            "each song was bought on its page",
            bought.status == 0 && Self.songs.allSatisfy { bought.all.contains("Bought \($0).") }, bought.all)
        let owned = try await library()
        try teller.check(
            "the library has the three songs, for 0.69, 0.99 and 0.69 USD",
            owned.map(\.name) == Self.songs && owned.map(\.price.decimal) == ["0.69", "0.99", "0.69"], "\(owned)")
        teller.explain("The pages of owned songs sell nothing:")
        let again = try await promote(["--playlist"])
        try teller.check(
            "the second time nothing is bought",
            again.status == 0 && Self.songs.allSatisfy { again.all.contains("\($0)  owned") }
                && !again.all.contains("Bought"), again.all)
        try teller.check(
            "the library is unchanged", try await library().map(\.transactionID) == owned.map(\.transactionID))
        teller.explain("Their files are on the device. The command downloads files that the app could not:")
        let arguments = ["library", "download", "--device", places.path("device").path, "--json"]
        let files = try await cornerstore(arguments)
        struct File: Decodable { var length: Int64, path: String? }
        let downloaded = (try? JSONDecoder().decode([File].self, from: Data(files.output.utf8))) ?? []
        try teller.check(
            "the device has three whole files",
            downloaded.count == 3
                && downloaded.allSatisfy { file in
                    let bytes = try? Data(contentsOf: URL(fileURLWithPath: file.path ?? ""))
                    return file.length > 0 && bytes.map { Int64($0.count) } == file.length
                }, files.all)
    }

    func reviewApp() async throws {
        teller.begin("The customer buys the other app and reviews it on its page")
        let bought = try await promote(["--app"])
        try teller.check("the app was bought", bought.all.contains("Bought Photo Filters."), bought.all)
        let page = bought.all.firstMatch(of: /http:\S+\/visit\/[0-9a-f]+/).map { String($0.0) } ?? ""
        teller.explain("The customer's browser sends the form of the page that the app showed:")
        teller.show("POST …/visit/…/review  stars=5 title=Old prints")
        let form = Data("stars=5&title=Old+prints&text=My+photos+look+like+my+grandmother%27s.".utf8)
        let sent = try await PlainHTTP.send(
            "POST", page + "/review", body: .bytes(.init(bytes: form)),
            headers: [("Content-Type", "application/x-www-form-urlencoded")], limit: 1 << 20, timeout: .seconds(60))
        try teller.check(
            "the page thanks the customer",
            String(decoding: sent.body, as: UTF8.self).contains("Thank you for your review."), "\(sent.status)")
        let rated = try await promote(["--look-up", "1400000002"])
        try teller.check(
            "lookup shows the rating", rated.output.contains("5.0 of 5 stars (1)"), rated.all)
    }

    /// Runs the app, and shows the command and its output.
    private func promote(_ arguments: [String], sheet: String = "approve") async throws -> ChildProcess.Result {
        teller.show("cross-promotion " + arguments.joined(separator: " "))
        let result = try await promotion.run(arguments, sheet: sheet, mergesErrors: true)
        teller.show(result.all)
        return result
    }

    /// The items that the customer owns.
    private func library() async throws -> [OwnedItem] {
        let result = try await cornerstore(["library", "--json"])
        guard let items = try? JSONDecoder().decode([OwnedItem].self, from: Data(result.output.utf8)) else {
            throw CommandError(.failed, "Cannot read the library: \(Style.printable(result.all))")
        }
        return items
    }
}
