import ArgumentParser
import Foundation
import StoreServer
import StoreWire

/// `--json`, of every command that prints a result.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON document instead of text.")
    var json = false
}

/// `--data`: where a store keeps everything, and where commands find a running one.
struct DataOptions: ParsableArguments {
    @Option(
        name: .customLong("data"),
        help: ArgumentHelp("The store's data directory (CORNERSTORE_DATA, else .cornerstore).", valueName: "dir"),
        completion: .directory)
    var path: String?

    /// The directory, made absolute.
    var directory: URL { Self.directory(path) }

    static func directory(_ path: String?) -> URL {
        let variable = Console.current.environment["CORNERSTORE_DATA"].flatMap { $0.isEmpty ? nil : $0 }
        return URL(fileURLWithPath: path ?? variable ?? defaultPath, isDirectory: true).standardizedFileURL
    }

    static let defaultPath = ".cornerstore"

    /// Where the store of this directory answers.
    /// - Throws: ``CommandError`` when none is running.
    func addresses() throws -> Addresses {
        guard let addresses = Addresses.read(from: directory) else {
            throw CommandError(
                .failed,
                "No store is running on \(directory.path). Start one with “cornerstore serve FILE.storekit”, or name its data directory "
                    + "with --data.")
        }
        return addresses
    }
}

/// `--environment`: which of the two stores.
struct EnvironmentOptions: ParsableArguments {
    enum Name: String, ExpressibleByArgument, CaseIterable {
        case sandbox
        case production

        var environment: StoreEnvironment { self == .sandbox ? .sandbox : .production }
    }

    @Option(name: [.customLong("environment"), .customShort("e")], help: "Which of the two stores.")
    var name = Name.sandbox

    var environment: StoreEnvironment { name.environment }
}

/// How to reach the control port.
struct ControlOptions: ParsableArguments {
    @OptionGroup var data: DataOptions

    @Option(help: ArgumentHelp("The control port's base URL, instead of finding it through --data.", valueName: "url"))
    var control: String?

    /// - Throws: ``CommandError`` when no store is known to run there.
    func client() throws -> ControlClient {
        let token = Console.current.environment["CORNERSTORE_ADMIN_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        guard let control else { return ControlClient(base: try data.addresses().control, adminToken: token) }
        guard let url = URL(string: control), ["http", "https"].contains(url.scheme ?? ""), url.host != nil else {
            throw CommandError(.usage, "--control is a URL such as http://127.0.0.1:8400, not “\(control)”.")
        }
        return ControlClient(base: control.hasSuffix("/") ? String(control.dropLast()) : control, adminToken: token)
    }
}
