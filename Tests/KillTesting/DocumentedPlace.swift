import Foundation
import TestSupport

/// The two machines of the example in `Documentation/SeveralProcesses.md`, as addresses, ports and folders of this one.
struct DocumentedPlace: Sendable {
    /// A port of both machines.
    enum Port: Int, CaseIterable {
        case control
        case sandbox
        case production
        case storefront
        case merchant
    }

    /// A port of nginx.
    enum Entrance: Int, CaseIterable {
        case sandbox
        case production
        case storefront
        case merchant
        case ocsp
    }

    /// The machines' numbers.
    static let machines = 1...2
    /// What the storefront's item is called.
    static let itemName = "The Example"

    private static let catalog = """
        cornerstore-catalog: 1
        apps:
          - bundleID: \(StoreProcess.bundleID)
            name: Kills
            products:
              - { productID: coins, type: Consumable, displayPrice: 0.99 }
              - { productID: novel, type: NonConsumable, displayPrice: 4.99 }
        items:
          - number: 1000
            kind: book
            creator: { number: 900, name: Ann Author }
            genres: [{ number: 38, name: Books }]
            texts: [{ locale: en_US, name: \(itemName) }]
            releaseDate: "2020-01-01"
            displayPrice: 4.99

        """
    private static let products = """
        app: \(StoreProcess.bundleID)
        products:
          - {id: coins, kind: consumable, grants: [{credits: 100, currency: coins}]}
          - {id: novel, kind: nonConsumable, grants: [{content: novel}]}

        """
    private static let tokenKeys = """
        {"issuer": "https://login.example.com", "audience": "\(StoreProcess.bundleID)", "keys": [
          {"id": "1", "algorithm": "HS256", "secret": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
        ]}
        """

    /// The folder in which the page's commands run, with the files that both machines have.
    let folder: URL
    /// The machines of PostgreSQL.
    let pair: PostgreSQLPair
    private let programs: Programs
    private let bucket: (name: String, endpoint: String)
    private let ports: [ReservedPort]
    private let proxy: [ReservedPort]

    /// Chooses ports, writes the files that the example takes for granted, and makes the secrets with the page's
    /// command.
    init(_ programs: Programs, folder: URL, pair: PostgreSQLPair) async throws {
        self.programs = programs
        self.folder = folder
        self.pair = pair
        bucket = try await S3Server.bucket()
        ports = try Port.allCases.map { _ in try ReservedPort() }
        proxy = try Entrance.allCases.map { _ in try ReservedPort() }
        try write(Self.catalog, to: "App.yaml")
        try write(Self.products, to: "Products.yaml")
        try write(Self.tokenKeys, to: "token-keys.json")
        try await run("cd '\(folder.path)'\n\(try DocumentedSetup.block("key"))")
    }

    // MARK: Addresses

    /// The base URL of a port of a machine.
    func address(_ port: Port, at machine: Int) -> String { "http://\(authority(port, at: machine))" }

    /// The base URL of a port of nginx.
    func address(_ entrance: Entrance) -> String { "http://127.0.0.1:\(proxy[entrance.rawValue].number)" }

    private func host(_ machine: Int) -> String { "127.0.0.\(machine)" }
    private func authority(_ port: Port, at machine: Int) -> String {
        "\(host(machine)):\(ports[port.rawValue].number)"
    }
    private func data(_ machine: Int) -> String { folder.appendingPathComponent("machine\(machine)").path }

    // MARK: Commands

    /// Starts a server with a block of the page, and returns when it answers.
    func start(_ name: String, at machine: Int) async throws -> ServerProcess {
        let server = ServerProcess()
        var environment = environment
        for port in Port.allCases {
            environment["CORNERSTORE_\("\(port)".uppercased())_PORT"] = "\(ports[port.rawValue].number)"
        }
        try await server.start(
            .init(
                program: Self.shell,
                arguments: ["-e", "-c", "\(try beginning)exec \(try script(name, at: machine)) --json"],
                environment: environment, log: log("\(name)\(machine)")))
        return server
    }

    /// Starts nginx with the page's configuration.
    func startProxy() async throws -> NginxProcess {
        let stores = Self.machines.map { machine in
            [Port.sandbox, .production, .storefront].map { authority($0, at: machine) }
        }
        let configuration = try DocumentedSetup.nginx(
            stores: stores, merchants: Self.machines.map { authority(.merchant, at: $0) },
            proxy: proxy.map(\.number))
        return try await NginxProcess(
            configuration, port: proxy[0].number, in: folder.appendingPathComponent("nginx"))
    }

    /// Runs the page's command that tells the stores where the merchants are, at the first machine.
    func setNotifications() async throws { try await run("\(try beginning)\(try script("notifications", at: 1))") }

    /// A new key of the merchants' backend, made at the first machine.
    func makeContentKey() async throws -> String {
        let place = "--data '\(data(1))/merchant' --database \"\(pair.merchantURL)\""
        return try await run("\(try beginning)cornerstore merchant key make backend --scope content \(place)")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The ends of all logs.
    var logs: String {
        (["commands"] + Self.machines.flatMap { ["store\($0)", "merchant\($0)"] })
            .map { "\($0): \(ServerProcess.end(of: log($0)))" }.joined(separator: "\n")
    }

    private static let shell = URL(fileURLWithPath: "/bin/sh")

    private var environment: [String: String] {
        var environment = Programs.environment
        environment["PATH"] = "\(programs.store.deletingLastPathComponent().path):/usr/bin:/bin"
        return environment
    }

    /// The commands that the page's others are typed after.
    private var beginning: String {
        get throws {
            "cd '\(folder.path)'\n\(try DocumentedSetup.block("environment").replacing("…", with: "test"))\n"
        }
    }

    /// A block of the page, as it is typed at a machine.
    private func script(_ name: String, at machine: Int) throws -> String {
        var text = try DocumentedSetup.block(name)
        let content = "endpoint=\(bucket.endpoint)&region=us-east-1"
        for (shown, real) in [
            ("postgres://store@10.0.0.21,10.0.0.22/store", pair.url),
            ("postgres://merchant@10.0.0.21,10.0.0.22/merchant", pair.merchantURL),
            ("s3://content?region=eu-west-3", "s3://\(bucket.name)?\(content)"),
            ("s3://content/merchant?region=eu-west-3", "s3://\(bucket.name)/merchant?\(content)"),
            ("https://store.example.com:8403", address(.storefront)),
            ("http://store.example.com/ocsp", "\(address(.ocsp))/ocsp"),
            ("https://merchant.example.com:8410", address(.merchant)),
            ("--host 10.0.0.11", "--host \(host(machine))"), ("--node 1", "--node \(machine)"),
            ("/srv/store", "'\(data(machine))/store'"), ("/srv/merchant", "'\(data(machine))/merchant'"),
        ] {
            text = text.replacing(shown, with: real)
        }
        for left in ["10.0.0.", "/srv/", "example.com", "…"] where text.contains(left) {
            throw KillTestError("the block “\(name)” has an unknown place: \(left)")
        }
        return text
    }

    /// Runs commands to their end, or to the first that fails.
    /// - Returns: what they printed.
    @discardableResult
    private func run(_ script: String) async throws -> String {
        let log = log("commands")
        let (status, output) = try await programs.run(
            ["-e", "-c", script], environment, log: log, program: Self.shell)
        guard status == 0 else { throw KillTestError("\(script): \(status) \(ServerProcess.end(of: log))") }
        return output
    }

    private func log(_ name: String) -> URL { folder.appendingPathComponent("\(name).log") }

    /// Writes a file that only its owner reads.
    private func write(_ text: String, to name: String) throws {
        let isWritten = FileManager.default.createFile(
            atPath: folder.appendingPathComponent(name).path, contents: Data(text.utf8),
            attributes: [.posixPermissions: 0o600])
        guard isWritten else { throw KillTestError("\(name) cannot be written") }
    }
}
