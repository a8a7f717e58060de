import ControlWire
import Foundation
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("What can be hosted", .timeLimit(.minutes(1))) struct HostingTests {
    @Test func theCatalogTurnsHostingOnOnceAndTheOperatorHasTheLastWord() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let hosted = RunningServer.catalogText.replacing(
                "displayPrice: 2.99", with: "displayPrice: 2.99\n        hosted: true")
            try Data(hosted.utf8).write(to: directory.url.appendingPathComponent("catalog.yaml"))
            try await RunningServer.with(directory.url) { server async throws in
                let product = try #require(try await server.hosted().first)
                #expect(product.productId == "hats" && product.hosted && product.state == "WAITING_FOR_UPLOAD")
                #expect(product.review == "manual" && product.productionVersion == nil)
                try await server.host("hats", false)
            }
            try await RunningServer.with(directory.url) { server async throws in
                #expect(try await server.hosted().map(\.hosted) == [false])
                try await server.host("hats")
                #expect(try await server.hosted().map(\.hosted) == [true])
            }
        }
    }

    @Test func onlyNewNonConsumablesOfTheCatalogAreHosted() async throws {
        try await withServer { server async throws in
            func status(_ product: String, _ bundle: BundleID = RunningServer.bundleID) async throws -> Int {
                let body = #"{"bundleId":"\#(bundle)","productId":"\#(product)","hosted":true}"#
                return try await server.control("PUT", "/control/v1/content/hosting", body).status
            }
            #expect(try await status("credits5") == 409)
            #expect(try await status("club.monthly") == 409)
            #expect(try await status("nothing") == 404)
            #expect(try await status("hats", "com.example.none") == 404)
            // Production sold it; the sandbox's sales do not count.
            let token = try await server.signIn().token
            _ = try await server.device(.purchases, token: token, body: server.purchase("hats"))
            #expect(try await status("hats") == 200)
            try await server.host("hats", false)
            let made = #"{"email":"anna@example.com","password":"banana-split"}"#
            _ = try await server.control("POST", "/control/v1/production/accounts", made)
            let signIn = SignInRequest(email: "anna@example.com", password: "banana-split", deviceID: UUID())
            let anna = try await server.device(.signIn, .production, body: signIn).decoded(SignInResponse.self).token
            _ = try await server.device(.purchases, .production, token: anna, body: server.purchase("hats"))
            #expect(try await status("hats") == 409)
        }
    }

    @Test func aBadPackageIsAnsweredWithAllThatIsWrong() async throws {
        try await withServer { server async throws in
            try await server.host("hats")
            let wrong = try SamplePackage("scarf", "1.0", size: 100)
            let mislabelled = SamplePackage(product: "hats", bytes: wrong.bytes)
            let upload = try await server.begin(mislabelled)
            _ = try await server.append(mislabelled.bytes, to: upload, at: 0)
            let refused = try await server.complete(upload)
            #expect(refused.status == 422 && refused.code == "invalid_content")
            let findings = try refused.decoded(ControlAPI.RefusedContent.self).findings
            #expect(findings.map(\.rule) == ["product"])
            #expect(try await server.hosted().first?.uploads.first?.findings == findings)
        }
    }

    @Test func uploadsAreBoundedAndTheirBytesAnnounced() async throws {
        try await withServer { server async throws in
            try await server.host("hats")
            let package = try SamplePackage("hats", "1.0", size: 1000)
            let upload = try await server.begin(package)
            let path = "/control/v1/content/uploads/\(upload.uploadId)"
            for type in ["text/plain", "application/x-www-form-urlencoded", ""] {
                let reply = try await server.control(
                    "PATCH", path + "?offset=0", headers: [("Content-Type", type)], "x")
                #expect(reply.status == 415, "\(type)")
            }
            #expect(
                try await server.control(
                    "POST", path + "/complete", headers: [("Content-Type", "application/octet-stream")], "x"
                ).status == 415)
            #expect(try await server.append(package.bytes + [1], to: upload, at: 0).status == 413)
            #expect(try await server.append([1], to: upload, at: -1).status == 400)
            let huge =
                #"{"bundleId":"\#(RunningServer.bundleID)","productId":"hats","length":2000000001,"sha256":"\#(package.sha256)"}"#
            #expect(try await server.control("POST", "/control/v1/content/uploads", huge).status == 413)
            #expect(try await server.control("GET", "/control/v1/content/uploads/x").status == 400)
            #expect(try await server.control("GET", "/control/v1/content/uploads/\(UUID())").status == 404)
            #expect(try await server.control("DELETE", path).status == 204)
            #expect(try await server.control("GET", path).status == 404)
        }
    }
}
