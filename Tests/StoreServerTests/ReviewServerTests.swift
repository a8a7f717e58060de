import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("Reviews over HTTP", .timeLimit(.minutes(1)))
struct ReviewServerTests {
    static let items = """

        items:
          - number: 1000
            kind: app
            bundleID: com.example.monkeys
            platforms: [iphone]
            creator: {number: 900, name: Example Games}
            genres: [{number: 6014, name: Games}]
            texts: [{locale: en_US, name: Monkeys}]
            versions: [{version: "1.1", releaseDate: "2026-01-02"}]
            displayPrice: 0.99
        """

    private func with(
        _ change: @escaping @Sendable (inout StoreServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (RunningServer) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + Self.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url, change, body)
        }
    }

    private static func rating(_ server: RunningServer, _ country: String = "us") async throws -> [Double] {
        let reply = try await server.send("GET", server.addresses.storefront + "/lookup?id=1000&country=\(country)")
        let results = reply.json["results"] as? [[String: Any]]
        let item = try #require(results?.first)
        return ["userRatingCount", "averageUserRating", "userRatingCountForCurrentVersion"].map {
            (item[$0] as? NSNumber)?.doubleValue ?? -1
        }
    }

    @Test(arguments: Backend.available) func aRatingReachesTheLookup(_ backend: Backend) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await with {
                $0.databaseURL = url
                $0.schemaPrefix = prefix
            } _: { server in
                try await Self.journey(server)
            }
        }
    }

    private static func journey(_ server: RunningServer) async throws {
        let app = RunningServer.bundleID
        #expect(try await rating(server) == [0, 0, 0])
        let tester = try await server.signIn().token
        let none = try await server.device(.review(app), token: tester)
        #expect(none.status == 200 && none.text == "{}")
        let rated = try await server.device(
            .writeReview, token: tester, body: ReviewRequest(bundleID: app, stars: 4))
        let own = try #require(try rated.decoded(ReviewResponse.self).review)
        #expect(own.stars == 4 && own.version == "1.1" && own.title == nil && !own.isHidden)

        // The storefront shows both environments together.
        let new = #"{"email":"anna@example.com","password":"bananas","storefront":"USA"}"#
        #expect(try await server.control("POST", "/control/v1/production/accounts", new).status == 201)
        let signIn = SignInRequest(email: "anna@example.com", password: "bananas", deviceID: RunningServer.device)
        let anna = try await server.device(.signIn, .production, body: signIn).decoded(SignInResponse.self).token
        let request = ReviewRequest(bundleID: app, stars: 1, title: "<b>No</b>", text: "It \u{7}crashed.")
        let written = try await server.device(.writeReview, .production, token: anna, body: request)
        #expect(try written.decoded(ReviewResponse.self).review?.text == "It crashed.")
        #expect(try await rating(server) == [2, 2.5, 2])
        #expect(try await rating(server, "de") == [0, 0, 0])

        // A rating alone keeps the words.
        let again = try await server.device(
            .writeReview, .production, token: anna, body: ReviewRequest(bundleID: app, stars: 2))
        #expect(try again.decoded(ReviewResponse.self).review?.title == "<b>No</b>")
        #expect(try await rating(server) == [2, 3, 2])

        let path = "/control/v1/reviews"
        let list = try await server.control("GET", "\(path)?item=1000").decoded([ControlAPI.Review].self)
        #expect(Set(list.map(\.environment)) == ["sandbox", "production"])
        let review = try #require(list.first { $0.environment == "production" })
        let one = try await server.control("GET", "\(path)/\(review.reviewId)")
        #expect(try one.decoded(ControlAPI.Review.self) == review)
        let answer = try await server.control("PUT", "\(path)/\(review.reviewId)/answer", #"{"text":"Sorry."}"#)
        #expect(try answer.decoded(ControlAPI.Review.self).answer == "Sorry.")
        let seen = try await server.device(.review(app), .production, token: anna).decoded(ReviewResponse.self)
        #expect(seen.review?.answer == "Sorry." && seen.review?.answeredAt != nil)

        let hiding = try await server.control("PUT", "\(path)/\(review.reviewId)/hiding", #"{"reason":"Rude."}"#)
        #expect(try hiding.decoded(ControlAPI.Review.self).hiddenReason == "Rude.")
        #expect(try await rating(server) == [1, 4, 1])
        let hidden = try await server.control("GET", "\(path)?hidden=true").decoded([ControlAPI.Review].self)
        #expect(hidden.map(\.reviewId) == [review.reviewId])
        let author = try await server.device(.review(app), .production, token: anna)
        #expect(try author.decoded(ReviewResponse.self).review?.isHidden == true && !author.text.contains("Rude."))
        let shown = try await server.control("DELETE", "\(path)/\(review.reviewId)/hiding", headers: [])
        #expect(try shown.decoded(ControlAPI.Review.self).hiddenReason == nil)
        let unanswered = try await server.control("DELETE", "\(path)/\(review.reviewId)/answer", headers: [])
        #expect(try unanswered.decoded(ControlAPI.Review.self).answer == nil)
        #expect(try await rating(server) == [2, 3, 2])
        let first = try await server.control("GET", "\(path)?limit=1").decoded([ControlAPI.Review].self)
        let rest = try await server.control("GET", "\(path)?limit=1&after=\(first[0].cursor)")
        #expect(try rest.decoded([ControlAPI.Review].self).map(\.reviewId) == list.dropFirst().map(\.reviewId))
    }

    @Test func aRestartKeepsTheRatings() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + Self.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url) { server async throws in
                let request = ReviewRequest(bundleID: RunningServer.bundleID, stars: 5)
                _ = try await server.device(.writeReview, token: try await server.signIn().token, body: request)
            }
            try await RunningServer.with(directory.url) { server async throws in
                #expect(try await Self.rating(server) == [1, 5, 1])
            }
        }
    }

    @Test func badRequestsAreRefused() async throws {
        try await with { server in
            let token = try await server.signIn().token
            let address = server.addresses.sandbox + StoreRoute.writeReview.path
            #expect(try await server.device(.review(RunningServer.bundleID)).status == 401)
            let anonymous = ReviewRequest(bundleID: RunningServer.bundleID, stars: 5)
            #expect(try await server.device(.writeReview, body: anonymous).status == 401)
            let long = String(repeating: "x", count: 6_001)
            let bodies: [(String, Int, String)] = [
                ("", 400, "invalid_request"), ("[]", 400, "invalid_request"), ("{}", 400, "invalid_request"),
                (#"{"bundleId":"com.example.monkeys"}"#, 400, "invalid_request"),
                (#"{"bundleId":"com.example.monkeys","stars":"5"}"#, 400, "invalid_request"),
                (#"{"bundleId":"com.example.monkeys","stars":4.5}"#, 400, "invalid_request"),
                (#"{"bundleId":"com.example.monkeys","stars":0}"#, 400, "invalid_stars"),
                (#"{"bundleId":"com.example.monkeys","stars":6}"#, 400, "invalid_stars"),
                (#"{"bundleId":"com.example.apes","stars":5}"#, 404, "unknown_item"),
                (#"{"bundleId":"","stars":5}"#, 404, "unknown_item"),
                (#"{"bundleId":"com.example.monkeys","stars":5,"title":"A"}"#, 400, "invalid_request"),
                (#"{"bundleId":"com.example.monkeys","stars":5,"text":"A"}"#, 400, "invalid_request"),
                (
                    #"{"bundleId":"com.example.monkeys","stars":5,"title":"A","text":"\#(long)"}"#, 400,
                    "review_too_long"
                ),
                (#"{"bundleId":"\#(String(repeating: "x", count: 200_000))","stars":5}"#, 413, "too_large"),
            ]
            for (body, status, code) in bodies {
                let reply = try await server.send("POST", address, token: token, body: Array(body.utf8))
                #expect(reply.status == status && reply.code == code, "\(body.prefix(80)): \(reply.text)")
            }
            let noBundle = try await server.send("GET", server.addresses.sandbox + "/device/v1/review", token: token)
            #expect(noBundle.status == 400)
            #expect(try await server.device(.review("com.example.apes"), token: token).code == "unknown_item")

            let path = "/control/v1/reviews"
            for query in [
                "item=x", "item=99999999999999999999", "hidden=yes", "after=x", "limit=0", "limit=201", "limit=-1",
            ] {
                let reply = try await server.control("GET", "\(path)?\(query)")
                #expect(reply.status == 400 && reply.code == "invalid_request", "\(query)")
            }
            #expect(try await server.control("GET", "\(path)/x").status == 400)
            let id = UUID()
            for (method, rest, body) in [
                ("GET", "", nil), ("PUT", "/answer", #"{"text":"A"}"#), ("DELETE", "/answer", nil),
                ("PUT", "/hiding", #"{"reason":"A"}"#), ("DELETE", "/hiding", nil),
            ] {
                let reply = try await server.control(method, "\(path)/\(id)\(rest)", body)
                #expect(reply.status == 404 && reply.code == "unknown_review", "\(method) \(rest)")
            }
            for body in ["{}", #"{"text":""}"#, #"{"text":7}"#] {
                #expect(try await server.control("PUT", "\(path)/\(id)/answer", body).status == 400, "\(body)")
            }
        }
    }
}
