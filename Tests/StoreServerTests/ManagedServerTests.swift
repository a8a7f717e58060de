import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("The managed catalog on the control port", .timeLimit(.minutes(1))) struct ManagedServerTests {
    private static let app = RunningServer.bundleID.rawValue
    private static let base = "/control/v1/managed"
    private static let texts = #"[{"locale":"en_US","displayName":"Five","description":"Five credits."}]"#

    /// Runs a test with a server without catalog files.
    private func withEmptyServer(_ body: @escaping @Sendable (RunningServer) async throws -> Void) async throws {
        try await withServer({ $0.catalogFiles = [] }, body)
    }

    private static func send<Answer: Decodable>(
        _ server: RunningServer, _ route: ManagedRoute, _ body: String? = nil, status: Int = 200
    ) async throws -> Answer {
        let reply = try await server.control(route.method.rawValue, route.path, body)
        guard reply.status == status else { throw RunningServer.UnexpectedReply(reply) }
        return try reply.decoded(Answer.self)
    }

    private static func register(_ server: RunningServer) async throws -> ControlAPI.ManagedApp {
        try await send(
            server, .register, #"{"bundleId":"\#(app)","name":"Monkeys","by":"anna"}"#, status: 201)
    }

    private static func create(
        _ server: RunningServer, _ product: String, _ kind: String = "consumable", _ more: String = ""
    ) async throws -> ControlAPI.ManagedProduct {
        try await send(
            server, .createProduct(app),
            #"{"kind":"\#(kind)","productId":"\#(product)","document":{"displayPrice":"0.99","localizations":\#(texts)\#(more)},"by":"anna"}"#,
            status: 201)
    }

    /// The products that a device of the environment finds.
    private static func sold(
        _ server: RunningServer, _ products: ProductID..., in environment: StoreEnvironment
    ) async throws -> [String] {
        let request = ProductsRequest(bundleID: RunningServer.bundleID, productIDs: products, languages: ["en"])
        return try await server.device(.products, environment, body: request).decoded(ProductsResponse.self).products
            .map(\.productID.rawValue)
    }

    @Test func anAppIsRegisteredSoldReviewedAndKept() async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await RunningServer.with(directory.url, { $0.catalogFiles = [] }) { server async throws in
                let app = try await Self.register(server)
                #expect(app.inAppPurchase && app.review == "automatic" && app.revision == 1 && app.missing.isEmpty)
                let secrets = try String(
                    contentsOf: server.directory.appendingPathComponent("shared-secrets.json"), encoding: .utf8)
                #expect(secrets.contains(Self.app))
                let credits = try await Self.create(server, "credits5")
                #expect(credits.state == "READY_TO_SUBMIT" && credits.inSandbox && !credits.inProduction)
                #expect(credits.price == "0.99" && credits.currency == "USD" && credits.locales == ["en_US"])
                #expect(credits.document["displayPrice"] == .string("0.99") && credits.displayName == "Five")
                #expect(try await Self.sold(server, "credits5", in: .sandbox) == ["credits5"])
                #expect(try await Self.sold(server, "credits5", in: .production).isEmpty)

                // A device buys it in the sandbox.
                let token = try await server.signIn().token
                let bought = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
                    .decoded(PurchaseResponse.self)
                #expect(bought.state == .purchased)

                let submitted: [ControlAPI.ManagedProduct] = try await Self.send(
                    server, .submit(Self.app), #"{"products":[{"productId":"credits5","revision":1}]}"#)
                #expect(submitted.map(\.state) == ["APPROVED"] && submitted[0].inProduction)
                #expect(try await Self.sold(server, "credits5", in: .production) == ["credits5"])
            }
            try await RunningServer.with(directory.url, { $0.catalogFiles = [] }) { server async throws in
                #expect(try await Self.sold(server, "credits5", in: .production) == ["credits5"])
                let history: [ControlAPI.ManagedChange] = try await Self.send(server, .history(Self.app, limit: 10))
                #expect(history.map(\.action) == ["approve", "review", "submit", "create", "register"])
                #expect(history.map(\.by) == ["automatic review", "automatic review", "operator", "anna", "anna"])
                let older: [ControlAPI.ManagedChange] = try await Self.send(
                    server, .history(Self.app, product: "credits5", before: history[2].number))
                #expect(older.map(\.action) == ["create"])
            }
            // The file of the other tests describes the same app.
            let error = await #expect(throws: CatalogError.self) {
                try await RunningServer.with(directory.url) { _ async throws in }
            }
            #expect(error?.code == .duplicateApp)
            #expect(error?.detail.contains("catalog.yaml") == true && error?.detail.contains(Self.app) == true)
        }
    }

    @Test func theLaterOfTwoEditorsGetsTheCurrentState() async throws {
        try await withEmptyServer { server async throws in
            _ = try await Self.register(server)
            _ = try await Self.create(server, "credits5")
            let change = #"{"revision":1,"changes":{"displayPrice":"2.99"},"by":"ben"}"#
            let changed: ControlAPI.ManagedProduct = try await Self.send(
                server, .changeProduct(Self.app, "credits5"), change)
            #expect(changed.revision == 2 && changed.price == "2.99")
            let stale: ControlAPI.StaleRevision = try await Self.send(
                server, .changeProduct(Self.app, "credits5"), change, status: 409)
            #expect(stale.code == "stale_revision" && stale.products == [changed])
            for route in [
                ManagedRoute.step(.remove, Self.app, "credits5"), .deleteProduct(Self.app, "credits5", revision: 1),
            ] {
                let body = route.method == .delete ? nil : #"{"revision":1}"#
                let reply = try await server.control(route.method.rawValue, route.path, body)
                #expect(reply.status == 409 && reply.code == "stale_revision", "\(route)")
            }
            let app: ControlAPI.StaleRevision = try await Self.send(
                server, .changeApp(Self.app), #"{"revision":7,"review":"manual"}"#, status: 409)
            #expect(app.app?.revision == 1 && app.products == nil)
            let deleted = try await server.control(
                "DELETE", ManagedRoute.deleteProduct(Self.app, "credits5", revision: 2, by: "ben").path)
            #expect(deleted.status == 204)
            let reply = try await server.control("GET", ManagedRoute.product(Self.app, "credits5").path)
            #expect(reply.status == 404)
        }
    }

    @Test func wrongRequestsAreRefused() async throws {
        try await withEmptyServer { server async throws in
            _ = try await Self.register(server)
            func status(_ route: ManagedRoute, _ body: String? = nil) async throws -> Int {
                try await server.control(route.method.rawValue, route.path, body).status
            }
            #expect(try await status(.app("com.example.none")) == 404)
            #expect(try await status(.product(Self.app, "none")) == 404)
            #expect(try await status(.register, #"{"bundleId":"com.example.*"}"#) == 400)
            #expect(try await status(.register, #"{"bundleId":"\#(Self.app)"}"#) == 409)
            #expect(try await status(.createProduct(Self.app), #"{"kind":"thing","productId":"a"}"#) == 400)
            #expect(try await status(.createProduct(Self.app), #"{"kind":"consumable","productId":"a b"}"#) == 400)
            #expect(try await status(.changeChecklist, #"{"item":"passport"}"#) == 400)
            #expect(try await status(.changeApp(Self.app), #"{"revision":1,"review":"never"}"#) == 400)
            #expect(try await status(.submit(Self.app), #"{"products":[]}"#) == 400)
            #expect(try await status(.importCatalog, #"{"format":"yaml","text":"x"}"#) == 422)
            for path in ["history?limit=0", "history?before=x", "export?format=xml"] {
                let reply = try await server.control("GET", "\(Self.base)/apps/\(Self.app)/\(path)")
                #expect(reply.status == 400, "\(path)")
            }
            _ = try await Self.create(server, "coins")
            let noRevision = try await server.control("DELETE", "\(Self.base)/apps/\(Self.app)/products/coins")
            #expect(noRevision.status == 400)
            // The name may be in the request's field.
            let change = #"{"revision":1,"changes":{"name":"New"}}"#
            let named = try await server.control(
                "PATCH", ManagedRoute.changeApp(Self.app).path,
                headers: [("Content-Type", "application/json"), ("X-Operator", "olga")], change)
            #expect(named.status == 200)
            let changes: [ControlAPI.ManagedChange] = try await Self.send(server, .history(Self.app, limit: 1))
            #expect(changes.first?.by == "olga")
            // Nothing of this is on the stores' ports.
            let reply = try await server.send("GET", server.addresses.sandbox + ManagedRoute.apps.path)
            #expect(reply.status == 404)
        }
    }

    @Test func hostedContentIsUploadedAndReviewedWithItsProduct() async throws {
        try await withEmptyServer { server async throws in
            _ = try await Self.register(server)
            let _: ControlAPI.ManagedApp = try await Self.send(
                server, .changeApp(Self.app), #"{"revision":1,"review":"manual"}"#)
            #expect(
                try await server.control(
                    "POST", ManagedRoute.createProduct(Self.app).path,
                    #"{"kind":"consumable","productId":"coins","document":{"hosted":true}}"#
                ).status == 400)
            let hats = try await Self.create(server, "hats", "nonConsumable", #","hosted":true"#)
            #expect(hats.state == "WAITING_FOR_UPLOAD" && hats.hosted && !hats.inSandbox)
            #expect(hats.needs.first?.contains("validate") == true)
            #expect(try await server.hosted().map(\.hosted) == [true])

            // Turned off, on by the content's own route, and off again, before it goes live.
            let off: ControlAPI.ManagedProduct = try await Self.send(
                server, .changeProduct(Self.app, "hats"), #"{"revision":1,"changes":{"hosted":false}}"#)
            #expect(off.state == "READY_TO_SUBMIT" && !off.hosted)
            try await server.host("hats")
            let on: ControlAPI.ManagedProduct = try await Self.send(server, .product(Self.app, "hats"))
            #expect(on.hosted && on.revision == 3)

            _ = try await server.upload(try SamplePackage("hats", "1.0", size: 2000))
            let ready: ControlAPI.ManagedProduct = try await Self.send(server, .product(Self.app, "hats"))
            #expect(ready.state == "READY_TO_SUBMIT" && ready.contentState == "READY_TO_SUBMIT" && ready.inSandbox)
            #expect(try await Self.sold(server, "hats", in: .sandbox) == ["hats"])

            let submitted: [ControlAPI.ManagedProduct] = try await Self.send(
                server, .submit(Self.app), #"{"products":[{"productId":"hats","revision":3}]}"#)
            #expect(submitted[0].state == "WAITING_FOR_REVIEW")
            #expect(try await server.hosted()[0].state == "WAITING_FOR_REVIEW")
            let approved: ControlAPI.ManagedProduct = try await Self.send(
                server, .step(.approve, Self.app, "hats"), #"{"revision":4}"#)
            #expect(approved.inProduction)
            #expect(try await server.hosted()[0].productionVersion == "1.0")

            // Deleting a product ends the hosting of content that was never live.
            let scarf = try await Self.create(server, "scarf", "nonConsumable", #","hosted":true"#)
            let gone = try await server.control(
                "DELETE", ManagedRoute.deleteProduct(Self.app, "scarf", revision: scarf.revision).path)
            #expect(gone.status == 204)
            #expect(try await server.hosted().map { "\($0.productId) \($0.hosted)" } == ["hats true", "scarf false"])

            // Live now: neither route turns hosting off.
            #expect(
                try await server.control(
                    "PATCH", ManagedRoute.changeProduct(Self.app, "hats").path,
                    #"{"revision":5,"changes":{"hosted":false}}"#
                ).status == 409)
            await #expect(throws: RunningServer.UnexpectedReply.self) { try await server.host("hats", false) }
        }
    }

    @Test func aCatalogIsTakenInAndGivenOut() async throws {
        try await withEmptyServer { server async throws in
            let file = ControlAPI.CatalogImport(
                format: .yaml, text: RunningServer.catalogText, bundleId: nil, approved: nil, by: nil)
            let body = String(decoding: try JSONEncoder().encode(file), as: UTF8.self)
            let imported: ControlAPI.CatalogImported = try await Self.send(server, .importCatalog, body)
            #expect(imported.created.sorted() == ["club.monthly", "credits5", "hats"])
            #expect(imported.apps.first?.groups.map(\.name) == ["Club"] && imported.notes.count == 3)
            let yaml: ControlAPI.CatalogExport = try await Self.send(server, .export(Self.app))
            let apps = try CornerstoreCatalogFile.read(Array(RunningServer.catalogText.utf8), file: "a").apps
            #expect(yaml.text == CornerstoreCatalogFile.text(of: apps) && yaml.omitted.isEmpty)
            let storeKit: ControlAPI.CatalogExport = try await Self.send(server, .export(Self.app, format: .storekit))
            #expect(storeKit.text.contains("\"club.monthly\"") && !storeKit.omitted.isEmpty)
            // A served file cannot take the app over.
            let bad: ControlAPI.RefusedCatalog = try await Self.send(
                server, .importCatalog, #"{"format":"yaml","text":"cornerstore-catalog: 9"}"#, status: 422)
            #expect(bad.code == "invalid_catalog" && bad.problems.count == 1)
        }
        try await withServer { server async throws in
            let reply = try await server.control(
                "POST", ManagedRoute.register.path, #"{"bundleId":"\#(Self.app)"}"#)
            #expect(reply.status == 409 && reply.text.contains("catalog.yaml"))
        }
    }

    @Test func aReloadedFileCannotTakeAManagedAppOver() async throws {
        try await withServer { server async throws in
            let new = #"{"bundleId":"com.example.new"}"#
            let _: ControlAPI.ManagedApp = try await Self.send(server, .register, new, status: 201)
            var reload = server.application.catalogReload
            let path = server.application.configuration.catalogFiles[0].path
            try Data((RunningServer.catalogText + "\n  - {bundleID: com.example.new, products: []}\n").utf8).write(
                to: URL(fileURLWithPath: path), options: .atomic)
            await reload.look()
            #expect(server.application.catalogs.files.app("com.example.new") == nil)
            // The rest of the store goes on, and a corrected file is loaded.
            #expect(try await Self.sold(server, "credits5", in: .production) == ["credits5"])
            try Data((RunningServer.catalogText + "\n  - {bundleID: com.example.c, products: []}\n").utf8).write(
                to: URL(fileURLWithPath: path), options: .atomic)
            await reload.look()
            #expect(
                server.application.catalog.value.apps.map(\.bundleID.rawValue) == [
                    "com.example.c", "com.example.monkeys", "com.example.new",
                ])
        }
    }
}
