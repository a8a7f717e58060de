import Foundation
import TestSupport

/// Runs the commands of `Documentation/SeveralProcesses.md` as they stand there, with other addresses and paths.
public enum DocumentedRun {
    private static let catalog = """
        cornerstore-catalog: 1
        apps:
          - bundleID: com.example.kills
            name: Kills
            products:
              - { productID: coins, type: Consumable, displayPrice: 0.99 }

        """
    private static let products = """
        app: com.example.kills
        products:
          - {id: coins, kind: consumable, grants: [{credits: 100, currency: coins}]}

        """
    private static let tokenKeys = """
        {"issuer": "https://login.example.com", "audience": "com.example.kills", "keys": [
          {"id": "1", "algorithm": "HS256", "secret": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
        ]}
        """

    /// The folder in which the page's commands run, and what takes the place of its addresses.
    private struct Place {
        let programs: Programs
        let folder: URL
        let databaseURL: String
        let schemaPrefix: String
        let bucket: (name: String, endpoint: String)

        var log: URL { folder.appendingPathComponent("log") }

        func data(_ machine: Int) -> String { folder.appendingPathComponent("machine\(machine)").path }
        func host(_ machine: Int) -> String { "127.0.0.\(machine)" }

        /// The environment of a machine whose servers listen on these ports.
        func environment(_ ports: [Int] = []) -> [String: String] {
            var environment = Programs.environment
            environment["PATH"] = "\(programs.store.deletingLastPathComponent().path):/usr/bin:/bin"
            environment["CORNERSTORE_SCHEMA_PREFIX"] = schemaPrefix
            environment["CORNERSTORE_MERCHANT_SCHEMA"] = "\(schemaPrefix)_merchant"
            let names = ["CONTROL_PORT", "SANDBOX_PORT", "PRODUCTION_PORT", "STOREFRONT_PORT", "MERCHANT_PORT"]
            for (name, port) in zip(names, ports) { environment["CORNERSTORE_\(name)"] = "\(port)" }
            return environment
        }

        /// A block of the page, as it is typed at a machine.
        func script(_ name: String, at machine: Int) throws -> String {
            var text = try DocumentedSetup.block(name)
            let content = "endpoint=\(bucket.endpoint)&region=us-east-1"
            for (shown, real) in [
                ("postgres://store@10.0.0.21,10.0.0.22/store", databaseURL),
                ("postgres://merchant@10.0.0.21,10.0.0.22/merchant", databaseURL),
                ("s3://content?region=eu-west-3", "s3://\(bucket.name)?\(content)"),
                ("s3://content/merchant?region=eu-west-3", "s3://\(bucket.name)/merchant?\(content)"),
                ("--host 10.0.0.11", "--host \(host(machine))"), ("--node 1", "--node \(machine)"),
                ("/srv/store", "'\(data(machine))/store'"), ("/srv/merchant", "'\(data(machine))/merchant'"),
            ] {
                text = text.replacing(shown, with: real)
            }
            for left in ["10.0.0.", "/srv/", "…"] where text.contains(left) {
                throw KillTestError("the block “\(name)” has an unknown place: \(left)")
            }
            return text
        }

        /// The commands that a block is typed after.
        var beginning: String {
            get throws {
                let environment = try DocumentedSetup.block("environment").replacing("…", with: "test")
                return "cd '\(folder.path)' || exit 1\n\(environment)\n"
            }
        }

        /// Starts a server, and returns when it answers.
        func start(_ name: String, at machine: Int, ports: [Int]) async throws -> ServerProcess {
            let server = ServerProcess()
            let commands = "\(try beginning)exec \(try script(name, at: machine)) --json"
            try await server.start(
                .init(
                    program: URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", commands],
                    environment: environment(ports), log: log))
            return server
        }

        /// Runs commands to their end.
        func shell(_ script: String) async throws {
            let (status, _) = try await programs.run(
                ["-c", script], environment(), log: log, program: URL(fileURLWithPath: "/bin/sh"))
            guard status == 0 else { throw KillTestError("\(script): \(status) \(ServerProcess.end(of: log))") }
        }

        /// Writes a file that only its owner reads.
        func write(_ text: String, to name: String) throws {
            let isWritten = FileManager.default.createFile(
                atPath: folder.appendingPathComponent(name).path, contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600])
            guard isWritten else { throw KillTestError("\(name) cannot be written") }
        }
    }

    /// Makes the secrets, starts a store of two processes and a merchant, and sets the merchant's address, each with
    /// the page's command.
    /// - Returns: what is wrong, one sentence each.
    public static func run(_ programs: Programs) async throws -> [String] {
        try await TemporaryDirectory.with { directory in
            try await Backend.postgresql.withServerDatabase { url, prefix in
                guard let url else { return ["there is no PostgreSQL"] }
                let place = Place(
                    programs: programs, folder: directory.url, databaseURL: url, schemaPrefix: prefix,
                    bucket: try await S3Server.bucket())
                try place.write(catalog, to: "App.yaml")
                try place.write(products, to: "Products.yaml")
                try place.write(tokenKeys, to: "token-keys.json")
                try await place.shell("cd '\(directory.url.path)' || exit 1\n\(try DocumentedSetup.block("key"))")
                let ports = try Ports.free(9)
                var servers: [ServerProcess] = []
                let result: Result<[String], any Error>
                do {
                    servers.append(try await place.start("store", at: 1, ports: Array(ports[..<4])))
                    servers.append(try await place.start("store", at: 2, ports: Array(ports[4..<8])))
                    servers.append(
                        try await place.start("merchant", at: 1, ports: Array(ports[..<4]) + [ports[8]]))
                    result = .success(try await check(place, ports))
                } catch {
                    result = .failure(KillTestError("\(error)\n\(ServerProcess.end(of: place.log))"))
                }
                for server in servers.reversed() { _ = await server.stop(SIGKILL) }
                return try result.get()
            }
        }
    }

    /// Asks the servers whether they are what the page says.
    private static func check(_ place: Place, _ ports: [Int]) async throws -> [String] {
        let findings = Findings()
        let token = try String(contentsOf: place.folder.appendingPathComponent("admin-token"), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        try await place.shell("\(try place.beginning)\(try place.script("notifications", at: 1))")
        for machine in 1...2 {
            let control = "http://\(place.host(machine)):\(ports[machine == 1 ? 0 : 4])"
            let settings = try await HTTPReply("GET", "\(control)/control/v1/settings", token: token)
            findings.check(
                settings.json["node"] as? Int == machine, "process \(machine) has another number: \(settings.text)")
            // The server of the tests has no standby, which the page's option requires.
            let ready = try await HTTPReply("GET", "\(control)/ready")
            findings.check(
                ready.status == 503 && ready.json["reason"] as? String == "no_standby",
                "process \(machine) does not ask for a standby: \(ready.text)")
            let receivers = try await HTTPReply(
                "GET", "\(control)/control/v1/production/notification-urls", token: token)
            // JSON may escape the slashes.
            findings.check(
                receivers.text.contains("merchant.example.com"),
                "process \(machine) does not know the merchant's address: \(receivers.text)")
        }
        let second = "http://\(place.host(2)):\(ports[4])"
        let metrics = try await HTTPReply("GET", "\(second)/metrics", token: token)
        findings.check(metrics.text.contains("store_processes 2\n"), "the processes do not know each other")
        let merchant = try await HTTPReply("GET", "http://\(place.host(1)):\(ports[8])/ready")
        findings.check(merchant.status == 200, "the merchant is not ready: \(merchant.text)")
        return findings.all
    }
}
