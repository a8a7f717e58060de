import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

/// Two servers of one store in this process, at which people decide on the same thing at the same moment.
@Suite(
    "Decisions at two processes at once", .enabled(if: Backend.available.contains(.postgresql)),
    .timeLimit(.minutes(1)))
struct DecisionsAtOnceTests {
    private typealias Reply = RunningServer.Reply

    @Test func `an upload is ended once`() async throws { try await Self.with(Self.endUploads) }

    @Test func `a version of content is submitted and decided on once`() async throws {
        try await Self.with(Self.decideOnContent)
    }

    @Test func `a product is submitted and decided on once`() async throws {
        try await Self.with(Self.decideOnProducts)
    }

    @Test func `a purchase that waits for approval is decided on once`() async throws {
        try await Self.with(Self.answerRequests)
    }

    private static func with(
        _ body: @escaping @Sendable (RunningServer, RunningServer) async throws -> Void
    ) async throws {
        try await SeveralProcessesTests.withPlace { place async throws in
            try await place.serve("first") { first async throws in
                try await place.serve("second") { second async throws in try await body(first, second) }
            }
        }
    }

    /// Sends two requests at the same moment, of which one must succeed and the other get 409.
    /// - Returns: the answer of the one that succeeded, and the code of the refusal.
    private static func one(
        of first: @escaping @Sendable () async throws -> Reply,
        or second: @escaping @Sendable () async throws -> Reply
    ) async throws -> (done: Reply, refusal: String?) {
        async let one = first()
        async let other = second()
        let replies = try await [one, other].sorted { $0.status < $1.status }
        #expect(replies[0].status < 300 && replies[1].status == 409, "\(replies.map(\.text))")
        return (replies[0], replies[1].code)
    }

    /// Submits versions at both, and approves them at one and rejects them at the other.
    private static func decideOnContent(_ first: RunningServer, _ second: RunningServer) async throws {
        try await first.host("hats")
        var live: String?
        for number in 11...14 {
            let uploaded = try await first.upload(try SamplePackage("hats", "\(number).0", size: 1_000))
            let path = "/control/v1/content/versions/\(uploaded.versionId)/"
            let submitted = try await Self.one(
                of: { try await first.control("POST", path + "submit", "{}") },
                or: { try await second.control("POST", path + "submit", "{}") })
            let decided = try await Self.one(
                of: { try await first.control("POST", path + "approve", "{}") },
                or: { try await second.control("POST", path + "reject", #"{"reason":"Ugly."}"#) })
            #expect(submitted.refusal == "wrong_state" && decided.refusal == "wrong_state")
            let version = try decided.done.decoded(ControlAPI.ContentVersion.self)
            #expect(["APPROVED", "REJECTED"].contains(version.state))
            #expect(
                version.history.map(\.state) == [
                    "WAITING_FOR_UPLOAD", "PROCESSING_CONTENT", "READY_TO_SUBMIT", "WAITING_FOR_REVIEW", "IN_REVIEW",
                    version.state,
                ])
            if version.state == "APPROVED" { live = version.version }
            let request = ProductsRequest(
                bundleID: RunningServer.bundleID, productIDs: ["hats"], languages: ["en"])
            for server in [first, second] {
                let shown = try await server.hosted().first?.versions.first { $0.versionId == version.versionId }
                #expect(shown == version)
                // What devices of production are offered.
                let isOffered = try await SharedStoreTests.holds { [live] in
                    let reply = try await server.device(.products, .production, body: request)
                    return try reply.decoded(ProductsResponse.self).products.first?.content?.version == live
                }
                #expect(isOffered)
            }
        }
    }

    /// The same with managed products, whose history has each decision once.
    private static func decideOnProducts(_ first: RunningServer, _ second: RunningServer) async throws {
        let app = "com.example.apes"
        @Sendable func send(_ server: RunningServer, _ route: ManagedRoute, _ body: String? = nil) async throws -> Reply
        {
            try await server.control(route.method.rawValue, route.path, body)
        }
        #expect(try await send(first, .register, #"{"bundleId":"\#(app)","name":"Apes"}"#).status == 201)
        let manual = try await send(first, .changeApp(app), #"{"revision":1,"review":"manual"}"#)
        #expect(manual.status == 200, "\(manual.text)")
        let document =
            #"{"displayPrice":"0.99","localizations":[{"locale":"en_US","displayName":"A","description":"B."}]}"#
        for number in 1...4 {
            let product = "coins\(number)"
            let created = try await send(
                first, .createProduct(app),
                #"{"kind":"consumable","productId":"\#(product)","document":\#(document)}"#)
            #expect(created.status == 201, "\(created.text)")
            let submission = #"{"products":[{"productId":"\#(product)","revision":1}]}"#
            let submitted = try await Self.one(
                of: { try await send(first, .submit(app), submission) },
                or: { try await send(second, .submit(app), submission) })
            let decided = try await Self.one(
                of: { try await send(first, .step(.approve, app, product), #"{"revision":2}"#) },
                or: {
                    try await send(second, .step(.reject, app, product), #"{"revision":2,"reason":"Ugly."}"#)
                })
            #expect(submitted.refusal == "stale_revision" && decided.refusal == "stale_revision")
            let state = try decided.done.decoded(ControlAPI.ManagedProduct.self).state
            for server in [first, second] {
                let isShown = try await SharedStoreTests.holds {
                    let shown = try await send(server, .product(app, product))
                    return try shown.decoded(ControlAPI.ManagedProduct.self).state == state
                }
                #expect(isShown)
                let history = try await send(server, .history(app, product: product))
                    .decoded([ControlAPI.ManagedChange].self)
                #expect(
                    history.map(\.action) == [
                        state == "APPROVED" ? "approve" : "reject", "review", "submit", "create",
                    ])
            }
        }
    }

    /// Completes uploads at one process while the other cancels them, or ends the hosting of the product.
    private static func endUploads(_ first: RunningServer, _ second: RunningServer) async throws {
        /// The versions and open uploads of the hats that both processes show, without removed versions.
        func shown() async throws -> [[String]] {
            var all: [[String]] = []
            for server in [first, second] {
                let hats = try #require(try await server.hosted().first)
                let versions = hats.versions.filter { $0.state != "DEVELOPER_REMOVED_FROM_SALE" }
                all.append(versions.map(\.version) + hats.uploads.map { "upload \($0.uploadId)" })
            }
            return all
        }
        for number in 1...8 {
            try await first.host("hats")
            let version = "\(number).0"
            let package = try SamplePackage("hats", version, size: 1_000)
            let upload = try await first.begin(package)
            #expect(try await first.append(package.bytes, to: upload, at: 0).status == 200)
            async let completing = first.complete(upload)
            if number % 2 == 0 {
                // The other process cancels the upload.
                async let cancelling = second.control("DELETE", "/control/v1/content/uploads/\(upload.uploadId)")
                let (completed, cancelled) = try await (completing, cancelling)
                let isKept = completed.status == 200
                #expect(isKept || [404, 409].contains(completed.status), "\(completed.text)")
                #expect(cancelled.status == (isKept ? 409 : 204), "\(cancelled.text)")
                let versions = isKept ? [version] : []
                #expect(try await shown() == [versions, versions])
            }
            // The other process ends the hosting, which removes what was never live.
            async let ending: Void = second.host("hats", false)
            let completed = try await completing
            try await ending
            #expect([200, 404, 409].contains(completed.status), "\(completed.text)")
            #expect(try await shown() == [[], []])
        }
    }

    /// Approves purchases that wait at one process and declines them at the other.
    private static func answerRequests(_ first: RunningServer, _ second: RunningServer) async throws {
        let token = try await first.signIn().token
        for _ in 1...4 {
            var purchase = first.purchase("credits5")
            purchase.simulatesAskToBuy = true
            let asked = try await first.device(.purchases, token: token, body: purchase)
            #expect(try asked.decoded(PurchaseResponse.self).state == .deferred)
            let key = purchase.idempotencyKey
            let (approval, refusal) = (
                ControlRoute.approve(.sandbox, key: key).path, ControlRoute.decline(.sandbox, key: key).path
            )
            let answered = try await Self.one(
                of: { try await first.control("POST", approval) },
                or: { try await second.control("POST", refusal) })
            #expect(answered.refusal == "wrong_state")
            let state: PurchaseResponse.State = answered.done.status == 200 ? .purchased : .failed
            for server in [first, second] {
                let told = try await server.device(.purchases, token: token, body: purchase)
                #expect(try told.decoded(PurchaseResponse.self).state == state, "\(told.text)")
            }
        }
    }
}
