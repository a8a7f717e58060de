import ArgumentParser
import Foundation
import StoreKit
import StoreServer
import StoreWire

/// The options of commands that act as a device: the app, the account and the device's folder.
struct DeviceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The app's bundle id. Required when the store has several apps.", valueName: "bundle-id"))
    var app: String?
    @Option(help: ArgumentHelp("The account that uses the device.", valueName: "email"))
    var account: String?
    @Option(help: ArgumentHelp("The device's folder.", valueName: "dir"), completion: .directory)
    var device: String?
    @Option(help: ArgumentHelp("The CFBundleVersion to put into the receipt.", valueName: "version"))
    var appVersion = "1"
    @OptionGroup var environment: EnvironmentOptions
    @OptionGroup var data: DataOptions

    /// Returns the device of an account.
    ///
    /// - Parameter mustExist: whether the device given with `--device` must exist; false if the command may create it.
    /// - Throws: ``CommandError`` when no store runs, the store does not have the app, or the folder is not a device.
    func shellDevice(of email: String, mustExist: Bool) async throws -> ShellDevice {
        let addresses = try data.addresses()
        let folder =
            try device.map(mustExist ? DevicePlace.existing : DevicePlace.usable)
            ?? BuyCommand.deviceFolder(of: email, in: data.directory)
        return ShellDevice(
            store: addresses.store(environment.environment), environment: environment.environment,
            bundleID: try await AppSelection.only(app, data.client()), bundleVersion: appVersion,
            folder: folder.standardizedFileURL,
            root: data.directory.appendingPathComponent("roots/receipt-root.der"))
    }

    /// Returns the account given with `--account`, or else the sandbox tester.
    func customer(_ password: PasswordOptions) throws -> StoreCredentials {
        try ShellCustomer.named(account, password, environment.environment, in: data.directory)
    }

    /// Returns the address given with `--account`, or else of the sandbox tester.
    func email() throws -> String {
        if let account { return account }
        return try ShellCustomer.tester(environment.environment, in: data.directory).email
    }
}

/// The option for the password of `--account`.
struct PasswordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with the password of --account, or - for standard input. Without it, the command asks.",
            valueName: "file"),
        completion: .file())
    var passwordFile: String?
}

/// The customer of commands that act as a device.
enum ShellCustomer {
    /// Returns an account with its password, or the sandbox tester when no account is given.
    /// - Throws: ``CommandError`` as ``tester(_:in:)`` does, or when there is no password.
    static func named(
        _ account: String?, _ password: PasswordOptions, _ environment: StoreEnvironment, in data: URL
    ) throws -> StoreCredentials {
        guard let account else { return try tester(environment, in: data) }
        return StoreCredentials(
            email: account, password: try PasswordPrompt.password(file: password.passwordFile, whose: account))
    }

    /// Returns the sandbox tester that the store created on its first start.
    /// - Throws: ``CommandError`` in production, which has no tester, or when the data directory has no tester.
    static func tester(_ environment: StoreEnvironment, in data: URL) throws -> StoreCredentials {
        guard environment == .sandbox else {
            throw CommandError(
                .usage,
                "Production has no tester. Create an account with “cornerstore account create EMAIL --environment production” and give it with "
                    + "--account.")
        }
        guard let tester = SandboxTester.read(from: data) else {
            throw CommandError(
                .failed, "\(data.path) contains no \(SandboxTester.fileName). Give an account with --account.")
        }
        return StoreCredentials(email: tester.email, password: tester.password)
    }
}

/// A device with one app. A process can configure StoreKit only once, so call one of the `use` methods
/// once.
struct ShellDevice: Sendable {
    var store: String
    var environment: StoreEnvironment
    var bundleID: String
    var bundleVersion: String
    var folder: URL
    var root: URL

    /// Configures StoreKit and runs `body`.
    /// - Parameters:
    ///   - sheet: the payment sheet.
    ///   - late: the error message when `body` takes longer than `limit`; nil for the usual one.
    ///   - limit: the time limit.
    /// - Throws: ``CommandError`` `failed` with `late` after the time limit.
    func use<Report: Sendable>(
        _ sheet: any PaymentSheet, late: String? = nil, within limit: Duration = .seconds(60),
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
        let late = late ?? "The store at \(store) did not answer in time."
        return try await withTimeLimit(limit, else: CommandError(.failed, late + problems.text), body)
    }

    /// Configures StoreKit, signs in with an account when the store asks, and runs `body`.
    /// - Parameter answer: the customer's answer to payments.
    /// - Throws: ``CommandError`` as the other method does, and `refused` when the store rejects the password.
    func use<Report: Sendable>(
        as customer: StoreCredentials, answer: PaymentSheetAnswer = .cancel, late: String? = nil,
        within limit: Duration = .seconds(60), _ body: @escaping @Sendable () async throws -> Report
    ) async throws -> Report {
        let signIn = SignIn(customer)
        let sheet = ProgrammedPaymentSheet(confirm: { _ in answer }, signIn: { signIn.answer($0) })
        do {
            return try await use(sheet, late: late, within: limit, body)
        } catch let error as CommandError {
            guard signIn.wasRefused else { throw error }
            throw CommandError(.refused, "Wrong password for \(customer.email).")
        }
    }
}
