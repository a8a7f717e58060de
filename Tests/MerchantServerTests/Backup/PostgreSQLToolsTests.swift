import Foundation
import TestSupport
import Testing

@testable import MerchantServer

@Suite struct PostgreSQLToolsTests {
    @Test func withoutTheProgramsItSaysSo() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folders = [directory.url.path, "/nowhere"]
            let error = #expect(throws: MerchantServerError.self) { try PostgreSQLTools.find(in: folders) }
            #expect(error?.code == .noTools && error?.detail.contains("pg_dump") == true)
            for name in ["pg_dump", "pg_restore", "psql"] {
                let made = FileManager.default.createFile(
                    atPath: directory.path(name), contents: Data(), attributes: [.posixPermissions: 0o755])
                #expect(made)
            }
            #expect(try PostgreSQLTools.find(in: folders).path == directory.url.path)
        }
    }

    @Test(arguments: [
        "postgres://ann:se%40cret@host:5432/books", "postgres://ann@host:5432/books?password=se%40cret",
        "postgres://ann@host:5432/books?password=se%40cret&sslmode=require",
    ])
    func thePasswordIsNoArgument(_ url: String) throws {
        guard let tools = try? PostgreSQLTools(url: url, schema: "books") else { return }
        #expect(!tools.address.contains("cret") && tools.address.hasPrefix("postgres://ann@host:5432/books"))
    }
}
