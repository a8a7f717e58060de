import Foundation
import TestSupport
import Testing

@testable import MerchantServer

@Suite(.timeLimit(.minutes(1))) struct PostgreSQLToolsTests {
    @Test func withoutTheProgramsItSaysSo() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let folders = [directory.url.path, "/nowhere"]
            func tools() throws -> PostgreSQLTools {
                try PostgreSQLTools(url: "postgres://localhost/books", schema: "books", in: folders)
            }
            let error = #expect(throws: MerchantServerError.self) { try tools() }
            #expect(error?.code == .noTools && error?.detail.contains("pg_dump") == true)
            for name in ["pg_dump", "pg_restore", "psql"] {
                let made = FileManager.default.createFile(
                    atPath: directory.path(name), contents: Data(), attributes: [.posixPermissions: 0o755])
                #expect(made)
            }
            _ = try tools()
        }
    }

    @Test func programsThatAreTooOldAreRefused() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let scripts = [
                "pg_dump": "exit 1", "psql": "cat; echo 0",
                "pg_restore": "echo \"pg_restore: unrecognized option '$1'\" >&2; exit 1",
            ]
            for (name, script) in scripts {
                let made = FileManager.default.createFile(
                    atPath: directory.path(name), contents: Data("#!/bin/sh\n\(script)\n".utf8),
                    attributes: [.posixPermissions: 0o755])
                #expect(made)
            }
            let tools = try PostgreSQLTools(
                url: "postgres://localhost/books", schema: "books", in: [directory.url.path])
            let error = await #expect(throws: MerchantServerError.self) {
                try await tools.load(directory.url.appendingPathComponent("dump"), madeOf: "books")
            }
            #expect(error?.code == .noTools && error?.detail.contains("15.14") == true, "\(error?.detail ?? "")")
        }
    }

    @Test func `the programs obey the same PG variables as the server`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            for name in ["pg_dump", "pg_restore", "psql"] {
                let made = FileManager.default.createFile(
                    atPath: directory.path(name), contents: Data("#!/bin/sh\nenv >&2\nexit 1\n".utf8),
                    attributes: [.posixPermissions: 0o755])
                #expect(made)
            }
            let tools = try PostgreSQLTools(
                url: "postgres://ann:cret@localhost/books", schema: "books", in: [directory.url.path],
                environment: [
                    "PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/etc/root.pem", "PGPASSWORD": "other",
                    "PGCONNECT_TIMEOUT": "9999", "HOME": "/home/ann", "SECRET": "word",
                ])
            let error = await #expect(throws: MerchantServerError.self) { try await tools.isEmpty() }
            let seen = Set((error?.detail ?? "").split(whereSeparator: \.isWhitespace).map(String.init))
            #expect(seen.isSuperset(of: ["PGSSLMODE=verify-full", "PGSSLROOTCERT=/etc/root.pem", "HOME=/home/ann"]))
            // The URL's password and the own limit hold.
            #expect(seen.isSuperset(of: ["PGPASSWORD=***", "PGCONNECT_TIMEOUT=10"]) && !seen.contains("SECRET=word"))
        }
    }

    @Test func aSecretThatWouldBeAnArgumentIsRefused() {
        let error = #expect(throws: MerchantServerError.self) {
            try PostgreSQLTools(url: "postgres://ann@host/books?sslkey=a&sslpassword=cret", schema: "books")
        }
        #expect(error?.code == .invalidConfiguration && error?.detail.contains("cret") == false)
    }

    @Test(arguments: ["books; DROP SCHEMA x", "Books", "", "1books", "b\"c", String(repeating: "b", count: 64)])
    func whatIsNoNameOfASchemaIsPutIntoNoStatement(_ name: String) {
        #expect(!PostgreSQLTools.isName(name))
        #expect(throws: MerchantServerError.self) {
            try PostgreSQLTools(url: "postgres://localhost/books", schema: name)
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

    @Test(arguments: [
        ("postgres://ann:se%40cret@one:5432,two:5433/books", "postgres://ann@one:5432,two:5433/books"),
        ("postgres://ann@one,two/books?password=cret&sslmode=require", "postgres://ann@one,two/books?sslmode=require"),
        ("postgresql://[::1]:5432,two/books", "postgresql://[::1]:5432,two/books"),
        ("postgres:///books?host=/run/postgresql", "postgres:///books?host=/run/postgresql"),
    ])
    func severalHostsStay(_ url: String, _ address: String) throws {
        guard let tools = try? PostgreSQLTools(url: url, schema: "books") else { return }
        #expect(tools.address == address)
    }
}
