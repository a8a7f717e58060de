import ArgumentParser
import Foundation
import StoreServer
import StoreWire

/// The option `--json` of commands that print a result.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON document instead of text.")
    var json = false
}

extension ParsableArguments {
    /// Checks `limit`, the value of `--limit`.
    /// - Throws: a `ValidationError` unless it is from 1 to `most`.
    func checkLimit(_ limit: Int, upTo most: Int) throws {
        guard (1...most).contains(limit) else { throw ValidationError("--limit must be a number from 1 to \(most).") }
    }
}

/// The option `--data`: the data directory of a store. Commands find a running store through it. Commands that act as
/// a device need the directory itself, too, for the tester and the receipts' root, and have no `--control`.
struct DataOptions: ParsableArguments {
    static var help: ArgumentHelp {
        ArgumentHelp("The store's data directory (CORNERSTORE_DATA, else .cornerstore).", valueName: "dir")
    }

    @Option(name: .customLong("data"), help: DataOptions.help, completion: .directory)
    var path: String?

    /// The absolute URL of the directory.
    var directory: URL { Self.directory(path) }

    static func directory(_ path: String?) -> URL {
        let variable = Console.current.environment["CORNERSTORE_DATA"].flatMap { $0.isEmpty ? nil : $0 }
        return URL(fileURLWithPath: path ?? variable ?? defaultPath, isDirectory: true).standardizedFileURL
    }

    static let defaultPath = ".cornerstore"

    /// Returns the addresses of the store that runs on this directory.
    /// - Throws: ``CommandError`` when no store runs.
    func addresses() throws -> Addresses {
        guard let addresses = Addresses.read(from: directory) else {
            throw CommandError(
                .failed,
                "No store is running on \(directory.path). Start one with “cornerstore serve FILE.storekit”, or give its data directory "
                    + "with --data.")
        }
        return addresses
    }

    /// Returns a client of the control port of the store that runs on this directory.
    /// - Throws: ``CommandError`` when no store runs.
    func client() throws -> ControlClient { ControlClient(base: try addresses().control, adminToken: Self.adminToken) }

    /// The token of the control port, from `CORNERSTORE_ADMIN_TOKEN`.
    static var adminToken: String? {
        Console.current.environment["CORNERSTORE_ADMIN_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The option `--environment`: sandbox or production.
struct EnvironmentOptions: ParsableArguments {
    enum Name: String, ExpressibleByArgument, CaseIterable {
        case sandbox
        case production

        var environment: StoreEnvironment { self == .sandbox ? .sandbox : .production }
    }

    @Option(name: [.customLong("environment"), .customShort("e")], help: "The store's environment.")
    var name = Name.sandbox

    var environment: StoreEnvironment { name.environment }
}

/// The options that locate the control port.
struct ControlOptions: ParsableArguments {
    // Not a group: in a debug build, each group within a group makes parsing twice as slow, because ArgumentParser
    // checks the inner one again with each check of the outer one.
    @Option(name: .customLong("data"), help: DataOptions.help, completion: .directory)
    var path: String?

    /// The option `--data`.
    var data: DataOptions {
        var data = DataOptions()
        data.path = path
        return data
    }

    @Option(help: ArgumentHelp("The control port's base URL. The default comes from --data.", valueName: "url"))
    var control: String?

    /// Returns a client of the control port.
    /// - Throws: ``CommandError`` when the URL is wrong or no store runs on the data directory.
    func client() throws -> ControlClient {
        guard let control else { return try data.client() }
        guard let url = URL(string: control), ["http", "https"].contains(url.scheme ?? ""), url.host != nil else {
            throw CommandError(.usage, "--control must be a URL such as http://127.0.0.1:8400, not “\(control)”.")
        }
        return ControlClient(
            base: control.hasSuffix("/") ? String(control.dropLast()) : control, adminToken: DataOptions.adminToken)
    }
}
