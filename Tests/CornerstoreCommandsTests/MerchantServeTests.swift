import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands

/// `cornerstore merchant serve` with its half of the console, as programs.
@Suite(.enabled(if: Program.folder != nil, "cornerstore is not built"), .timeLimit(.minutes(1)))
struct MerchantServeTests {
    private static let serve = [
        "merchant", "serve", "--store", "apple", "--bundle-id", "com.example.books", "--port", "0",
    ]

    private func get(
        _ serve: ServeProcess, _ path: String, accept: String = "text/html"
    ) async throws -> PlainHTTP.Answer {
        let console = try #require(serve.report["console"])
        let port = try #require(console.split(separator: ":").last)
        // The name is one of this machine, which not every resolver knows.
        return try await PlainHTTP.send(
            "GET", "http://127.0.0.1:\(port)\(path)", body: nil as Data?, headers: [("Accept", accept)],
            limit: 1 << 20)
    }

    @Test func itsConsoleShowsTheMerchantAndStopsWithIt() async throws {
        try await TemporaryDirectory.with { directory in
            let serve = try ServeProcess(Self.serve + ["--console-port", "0"], in: directory.path("merchant"))
            #expect(serve.report["console"]?.hasPrefix("http://cornerstore.localhost:") == true)
            for path in ["/production", "/production/merchant", "/sandbox/notifications", "/production/settings"] {
                let page = try await get(serve, path)
                #expect(page.status == 200, "\(path)")
                #expect(String(decoding: page.body, as: UTF8.self).contains("Merchant"), "\(path)")
            }
            let settings = String(decoding: try await get(serve, "/production/settings").body, as: UTF8.self)
            #expect(settings.contains("com.example.books") && settings.contains(serve.report["merchant"] ?? "?"))
            #expect(try await get(serve, "/production/customers").status == 404)
            // Another one, without a console, needs no port of it.
            let port = try #require(serve.report["console"]?.split(separator: ":").last.map(String.init))
            let other = try ServeProcess(
                Self.serve + ["--console-port", port, "--no-console"], in: directory.path("other"))
            #expect(other.report["console"] == nil && other.report["merchant"] != nil)
            #expect(other.stop() == 0)
            let taken = try await Program.run(
                Self.serve + ["--console-port", port, "--data", directory.path("third"), "--json"])
            #expect(taken.status == 1 && taken.output.isEmpty, "\(taken.all)")
            #expect(taken.errors.contains("Port \(port) ") && taken.errors.contains("--no-console"), "\(taken.errors)")
            #expect(serve.stop() == 0)
        }
    }

    @Test func peopleSignInWithTheAdminToken() async throws {
        try await TemporaryDirectory.with { directory in
            let serve = try ServeProcess(
                Self.serve + ["--console-port", "0"], in: directory.path("merchant"),
                environment: ["CORNERSTORE_ADMIN_TOKEN": "hush"])
            // Somebody without a session is sent to the form.
            let page = try await get(serve, "/production/merchant", accept: "application/json")
            #expect(page.status == 401)
            #expect(serve.stop() == 0)
        }
    }
}
