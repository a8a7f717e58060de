import BlobStorage
import Crypto
import Foundation
import Logging
import Merchant
import MerchantServer
import MerchantWire
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct MerchantContentCommandTests {
    private struct Shop {
        let directory: TemporaryDirectory
        var data: String { directory.path("merchant") }

        func run(
            _ line: String, environment: [String: String] = [:]
        ) async -> (status: Int32, output: String, errors: String) {
            await Capture.run(
                ["merchant", "content"] + line.split(separator: " ").map(String.init) + ["--data", data],
                environment: environment)
        }

        func file(_ name: String, _ text: String) throws -> String {
            try Data(text.utf8).write(to: directory.url.appendingPathComponent(name))
            return directory.path(name)
        }

        func version(_ line: String, environment: [String: String] = [:]) async throws -> ContentVersion {
            let result = await run(line + " --json", environment: environment)
            try #require(result.status == 0, "\(result.errors)")
            return try JSONDecoder().decode(ContentVersion.self, from: Data(result.output.utf8))
        }

        var items: [ContentVersion] {
            get async throws {
                try JSONDecoder().decode(ContentList.self, from: Data(await run("list --json").output.utf8)).items
            }
        }

        /// Files that are under way, or were left there.
        var staged: [String] {
            let all = (FileManager.default.enumerator(atPath: data + "/uploads")?.allObjects as? [String]) ?? []
            // What is locked while somebody makes a folder there.
            return all.filter { $0 != ".lock" }
        }
    }

    /// Content is put into a merchant that is there: a misspelt directory must not become one.
    private func with(_ body: (Shop) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let shop = Shop(directory: directory)
            let none = await shop.run("put issue \(directory.path("none"))")
            #expect(none.status == 2 && none.errors.contains("There is no merchant in"))
            #expect(!FileManager.default.fileExists(atPath: shop.data))
            let place = try MerchantPlace(folder: URL(fileURLWithPath: shop.data), databaseURL: nil, schema: "x")
            try await place.openDatabase(logger: .silent).close()
            try await body(shop)
        }
    }

    @Test func aFileBecomesTheNextVersion() async throws {
        try await with { shop in
            let file = try shop.file("issue-12.epub", "The first issue")
            let first = try await shop.version("put issue-12 \(file)")
            #expect((first.item, first.version, first.size) == ("issue-12", 1, 15))
            #expect(first.mediaType == "application/epub+zip")
            #expect(first.digest == BlobDigest(SHA256.hash(data: Data("The first issue".utf8))).hexadecimal)
            // The operator's own file may change afterwards; what is kept may not.
            _ = try shop.file("issue-12.epub", "THE FIRST ISSUE")
            #expect(try Data(contentsOf: try blob(first.digest, shop)) == Data("The first issue".utf8))

            #expect(try await shop.version("put issue-12 \(file)").version == 2)
            #expect(try await shop.version("put issue-12 \(file)").version == 2)
            // A file without a telling name is what the version before was.
            let other = try shop.file("corrected.bin", "Corrected")
            #expect(try await shop.version("put issue-12 \(other)").mediaType == "application/epub+zip")
            #expect(try await shop.version("put issue-12 \(other) --type text/plain").mediaType == "text/plain")
            #expect(try await shop.version("put issue-13 \(other)").mediaType == "application/octet-stream")
            #expect(try await shop.items.map { "\($0.item) \($0.version)" } == ["issue-12 4", "issue-13 1"])
            let text = await shop.run("list").output
            #expect(text.hasPrefix("item      version  size") && text.contains("issue-12  4        9 bytes"), "\(text)")
            let put = await shop.run("put issue-13 \(other)")
            #expect(put.output.contains(first.digest) == false && put.output.contains("SHA-256  "), "\(put.output)")
            #expect(put.errors.contains("no product grants issue-13 yet") && shop.staged == [])
            _ = await Capture.run(
                ["merchant", "products", "put", "thirteen", "--app", "com.a", "--kind", "nonConsumable", "--content"]
                    + ["issue-13", "--data", shop.data])
            #expect(await shop.run("put issue-13 \(other)").errors == "")
            #expect(await shop.run("put isue-13 \(other)").errors.contains("Did you mean issue-13?"))
        }
    }

    private func blob(_ digest: String, _ shop: Shop) throws -> URL {
        let files = FileManager.default.enumerator(atPath: shop.data + "/content")?.allObjects as? [String] ?? []
        let name = try #require(files.first { $0.hasSuffix(digest) })
        return URL(fileURLWithPath: shop.data + "/content/" + name)
    }

    @Test func mistakesStoreNothing() async throws {
        try await with { shop in
            let file = try shop.file("issue.pdf", "An issue")
            let empty = try shop.file("empty", "")
            let long = String(repeating: "a", count: 256)
            let cases = [
                ("put issue \(file).none", "There is no file"),
                ("put issue \(shop.directory.url.path)", "is not a file"),
                ("put issue \(empty)", "is empty"), ("put issue /dev/zero", "is not a file"),
                ("put \(long) \(file)", "255 bytes"), ("put issue \(file) --type pdf", "type/subtype"),
            ]
            for (line, words) in cases {
                let result = await shop.run(line)
                #expect(result.status == 1 && result.errors.contains(words), "\(line): \(result.errors)")
            }
            #expect(try await shop.items == [] && shop.staged == [])
            #expect(await shop.run("list").output.contains("No content. Add content with"))
        }
    }

    /// Content that is put where no server looks would be on the list and could not be delivered.
    @Test func contentIsStoredWhereTheServerReadsIt() async throws {
        try await with { shop in
            let file = try shop.file("issue.pdf", "An issue")
            // A server that was started with a bucket has made no folder for content.
            let uploads = URL(fileURLWithPath: shop.data + "/uploads")
            try FileManager.default.createDirectory(at: uploads, withIntermediateDirectories: true)
            let bucket = await shop.run("put issue \(file)")
            #expect(bucket.status == 2 && bucket.errors.contains("--blobs"), "\(bucket.errors)")
            try FileManager.default.removeItem(at: uploads)
            #expect(try await shop.version("put issue \(file)").version == 1)
            // What is known is not in this folder.
            try FileManager.default.moveItem(atPath: shop.data + "/content", toPath: shop.data + "/elsewhere")
            try FileManager.default.createDirectory(
                atPath: shop.data + "/content", withIntermediateDirectories: true)
            let elsewhere = await shop.run("put issue \(file)")
            #expect(elsewhere.status == 1 && elsewhere.errors.contains("is stored elsewhere"), "\(elsewhere.errors)")
            let nowhere = await Capture.run(
                [
                    "merchant", "content", "put", "issue", file, "--database", "postgres://localhost/x", "--data",
                    file + ".none",
                ])
            #expect(nowhere.status == 2 && nowhere.errors.contains("No server keeps content"), "\(nowhere.errors)")
            #expect(!FileManager.default.fileExists(atPath: file + ".none"))
        }
    }

    @Test(.enabled(if: S3Server.isTested)) func contentCanBeStoredInABucket() async throws {
        let (name, endpoint) = try await S3Server.bucket()
        try await with { shop in
            let environment = [
                "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                "CORNERSTORE_MERCHANT_BLOBS": "s3://\(name)?endpoint=\(endpoint)",
            ]
            let file = try shop.file("issue.pdf", "An issue")
            let version = try await shop.version("put issue \(file)", environment: environment)
            let location = try #require(
                try S3Location(option: environment["CORNERSTORE_MERCHANT_BLOBS"], environment: environment))
            let store = S3BlobStore(location) { Date() }
            #expect(try await store.size(of: try #require(BlobDigest(version.digest))) == 8)
            #expect(!FileManager.default.fileExists(atPath: shop.data + "/content"))
            let without = await shop.run("put issue \(file)")
            #expect(without.status == 2 && without.errors.contains("--blobs"), "\(without.errors)")
        }
    }

    @Test(.enabled(if: Program.folder != nil, "cornerstore is not built"))
    func whoIsKilledHasPutNothingIn() async throws {
        try await with { shop in
            let file = try shop.file("small", "A small one")
            let big = shop.directory.path("big")
            #expect(FileManager.default.createFile(atPath: big, contents: nil))
            truncate(big, 1 << 30)
            let process = Process()
            process.executableURL = try #require(Program.folder).appendingPathComponent("cornerstore")
            process.arguments = ["merchant", "content", "put", "issue", big, "--data", shop.data]
            process.environment = Program.environment
            let errors = Pipe()
            process.standardError = errors
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            // The first tenth is there.
            let line = try errors.fileHandleForReading.read(upToCount: 1)
            #expect(line?.count == 1)
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            #expect(process.terminationReason == .uncaughtSignal)
            #expect(try await shop.items == [] && shop.staged != [])
            // Who comes next clears it away.
            #expect(try await shop.version("put issue \(file)").version == 1)
            #expect(try await shop.items.count == 1 && shop.staged == [])
        }
    }
}
