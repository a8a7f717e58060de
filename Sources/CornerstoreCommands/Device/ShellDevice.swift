import ArgumentParser
import Foundation
import StoreKit
import StoreServer
import StoreWire

/// Which device of which customer a command stands for, and which app runs on it.
struct DeviceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The app, when the store has several.", valueName: "bundle-id"))
    var app: String?
    @Option(help: ArgumentHelp("Whose device it is.", valueName: "email"))
    var account: String?
    @Option(help: ArgumentHelp("The device's folder.", valueName: "dir"), completion: .directory)
    var device: String?
    @Option(help: ArgumentHelp("The CFBundleVersion that the receipt names.", valueName: "version"))
    var appVersion = "1"
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var control: ControlOptions

    /// The device, for an app that `sheet` signs in on.
    ///
    /// - Parameter mustExist: false for a command that may make the device that `--device` names.
    /// - Throws: ``CommandError`` when no store runs, it has no such app, there is no such device, or nobody is named
    ///   where somebody must be.
    func shellDevice(of email: String, mustExist: Bool) async throws -> ShellDevice {
        let addresses = try control.data.addresses()
        let data = control.data.directory
        let folder =
            try device.map(mustExist ? DevicePlace.existing : DevicePlace.usable)
            ?? BuyCommand.deviceFolder(of: email, in: data)
        return ShellDevice(
            store: addresses.store(environment.environment), environment: environment.environment,
            bundleID: try await bundleID(), bundleVersion: appVersion, folder: folder.standardizedFileURL,
            root: data.appendingPathComponent("roots/receipt-root.der"))
    }

    private func bundleID() async throws -> String {
        let apps: [ControlAPI.App] = try await control.client().get("/apps")
        let names = apps.map(\.bundleId).joined(separator: ", ")
        if let app {
            guard apps.contains(where: { $0.bundleId.hasSameBytes(as: app) }) else {
                throw CommandError(.refused, "The store knows no app \(app); it has \(names).")
            }
            return app
        }
        guard let only = apps.first else { throw CommandError(.refused, "The store has no app.") }
        guard apps.count == 1 else {
            throw CommandError(.usage, "The store has several apps; choose with --app one of \(names).")
        }
        return only.bundleId
    }

    /// Who it is: the named account, or the sandbox's tester.
    func email() throws -> String {
        if let account { return account }
        return try ShellCustomer.tester(environment.environment, in: control.data.directory).email
    }
}

/// Who uses a device from the shell.
enum ShellCustomer {
    /// The tester that the store made on its first start.
    /// - Throws: ``CommandError`` in production, which has none.
    static func tester(
        _ environment: StoreEnvironment, in data: URL
    ) throws -> (email: String, password: String) {
        guard environment == .sandbox else {
            throw CommandError(
                .usage,
                "Production has no tester. Make a customer with “cornerstore account create EMAIL --environment production”, and name it with "
                    + "--account.")
        }
        guard let tester = SandboxTester.read(from: data) else {
            throw CommandError(
                .failed, "There is no \(SandboxTester.fileName) in \(data.path); name an account with --account.")
        }
        return (tester.email, tester.password)
    }
}

/// A device from the shell with one app on it. StoreKit is configured once a process, so it is used once.
struct ShellDevice: Sendable {
    var store: String
    var environment: StoreEnvironment
    var bundleID: String
    var bundleVersion: String
    var folder: URL
    var root: URL

    /// Configures StoreKit, and does `body`, for at most `limit`.
    /// - Throws: ``CommandError`` `failed` with `late` when the time is over.
    func use<Report: Sendable>(
        _ sheet: any PaymentSheet, late: String, within limit: Duration = .seconds(60),
        _ body: @escaping @Sendable () async throws -> Report
    ) async throws -> Report {
        let problems = Problems()
        var configuration = StoreKitConfiguration(
            store: URL(string: store), bundleIdentifier: bundleID, deviceFolder: folder, sheet: sheet)
        configuration.environment = environment
        configuration.bundleVersion = bundleVersion
        configuration.roots = [root]
        configuration.callbackQueue = DispatchQueue(label: "cornerstore device")
        configuration.diagnostics = { problems.add($0) }
        try StoreKitConfiguration.use(configuration)
        return try await withTimeLimit(limit, else: CommandError(.failed, late + problems.text), body)
    }
}
