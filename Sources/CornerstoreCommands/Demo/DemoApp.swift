import Foundation
import StoreServer

/// A sample app on a device. Each run is a separate process.
struct DemoApp: Sendable {
    private let executable: URL
    private let environment: [String: String]
    private static let limit = Duration.seconds(60)

    /// Writes the tester's password to a file, for the app's sign-in.
    /// - Parameters:
    ///   - device: the name of the device's folder.
    ///   - variables: additional variables of the app's environment.
    /// - Throws: ``CommandError`` when the store has no tester or the file cannot be written.
    init(_ sample: DemoSample, places: DemoPlaces, device: String = "device", variables: [String: String] = [:]) throws
    {
        guard let tester = SandboxTester.read(from: places.data) else {
            throw CommandError(.failed, "\(places.data.path) contains no \(SandboxTester.fileName).")
        }
        executable = places.program(sample)
        let password = places.path("tester-password")
        unlink(password.path)
        guard
            FileManager.default.createFile(
                atPath: password.path, contents: Data(tester.password.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CommandError(.failed, "Cannot write \(password.path).") }
        environment = [
            "PATH": Console.current.environment["PATH"] ?? "/usr/bin:/bin",
            "HOME": places.data.path,
            "LANG": "en_US.UTF-8",
            "CORNERSTORE_DATA": places.data.path,
            "CORNERSTORE_DEVICE": places.path(device).path,
            "CORNERSTORE_ACCOUNT": tester.email,
            "CORNERSTORE_PASSWORD_FILE": password.path,
        ].merging(variables) { $1 }
    }

    /// Runs the app to its end.
    /// - Parameters:
    ///   - sheet: the answer to the payment sheet, `approve` or `decline`.
    ///   - mergesErrors: whether the output contains the text on standard error, where StoreKit writes.
    func run(
        _ arguments: [String], sheet: String = "approve", input: String = "", mergesErrors: Bool = false
    ) async throws -> ChildProcess.Result {
        var environment = environment
        environment["CORNERSTORE_SHEET"] = sheet
        return try await ChildProcess(
            executable: executable, arguments: arguments, environment: environment, input: input,
            mergesErrors: mergesErrors
        )
        .run(within: Self.limit)
    }

    func balance() async throws -> Int {
        let result = try await run(["--balance"])
        guard let balance = Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw CommandError(
                .failed, "Expected a number from monkey-credits --balance, found: \(Style.printable(result.all))")
        }
        return balance
    }
}

extension ChildProcess.Result {
    /// The text on standard output and standard error.
    var all: String {
        [output, errors].map { $0.trimmingCharacters(in: .newlines) }.filter { !$0.isEmpty }.joined(separator: "\n")
    }
}
