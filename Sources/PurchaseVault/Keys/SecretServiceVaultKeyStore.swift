import Dispatch
import Foundation

/// Stores the key in the desktop's secret service (freedesktop.org, "Secret Service API": GNOME Keyring, KWallet,
/// KeePassXC). The service encrypts the key under the user's login, and can ask the user before it returns the key.
///
/// The store runs `secret-tool` of libsecret (Debian: libsecret-tools). The key passes through pipes, never through
/// arguments. Use this type alone where a desktop is certain, and ``DesktopVaultKeyStore`` elsewhere.
public struct SecretServiceVaultKeyStore: VaultKeyStore {
    /// The program that connects to the service.
    public static let program = URL(fileURLWithPath: "/usr/bin/secret-tool")

    private let bundleIdentifier: String
    private let place: String
    private let patience: TimeInterval
    private let environment: [String: String]?

    /// Creates a key store for one vault.
    ///
    /// - Parameters:
    ///   - configuration: The vault's configuration. Its app and folder identify the key.
    ///   - patience: The seconds that the user has to unlock the keyring.
    ///   - environment: The environment variables for `secret-tool`, of which `DBUS_SESSION_BUS_ADDRESS` locates the
    ///     service. Nil uses the variables of this process.
    public init(
        for configuration: VaultConfiguration, patience: TimeInterval = 120, environment: [String: String]? = nil
    ) {
        bundleIdentifier = configuration.bundleIdentifier
        place = configuration.markFolder.standardizedFileURL.path
        self.patience = patience
        self.environment = environment
    }

    /// Whether a service responds. Its keyring may still be locked.
    public var isAvailable: Bool { (try? isKept()) != nil }

    /// Reads the key, 32 bytes; nil when the service has none or it is malformed.
    ///
    /// - Throws: ``VaultError`` `storage` when the service does not respond, or the keyring stays locked.
    public func key() throws(VaultError) -> [UInt8]? {
        let text = try lookUp()
        // The lookup of a key in a locked keyring looks like the lookup of a missing key. A new key in its place would
        // make the whole vault unreadable.
        if text.isEmpty, try isKept() {
            throw VaultError(
                .storage,
                "the desktop's secret service did not return the vault's key; unlock its keyring")
        }
        guard let bytes = Data(base64Encoded: text), bytes.count == 32 else { return nil }
        return [UInt8](bytes)
    }

    /// Stores a new key and reads it back.
    ///
    /// - Throws: ``VaultError`` `storage` when the service does not respond, or does not return the same key.
    public func keep(_ key: [UInt8]) throws(VaultError) {
        let label = "--label=Purchases of \(bundleIdentifier)"
        let answer = try run(["store", label] + attributes, input: Data(key).base64EncodedString())
        guard answer.status == 0 else { throw refusal(answer) }
        // A key that cannot be read back would make the whole vault unreadable at the next opening.
        guard try self.key() == key else {
            throw VaultError(.storage, "the desktop's secret service stored the vault's key but does not return it")
        }
    }

    /// The text of the secret; empty when the service responds and has none.
    private func lookUp() throws(VaultError) -> String {
        let answer = try run(["lookup"] + attributes, input: "")
        if answer.status == 0 { return answer.output }
        // The program prints nothing when the secret does not exist, and a reason when it cannot reach the service.
        guard answer.errors.isEmpty else { throw refusal(answer) }
        return ""
    }

    /// Whether the service has the secret, locked or not. It never asks the user to unlock the keyring.
    private func isKept() throws(VaultError) -> Bool {
        let answer = try run(["search"] + attributes, input: "")
        // For a locked secret the program prints both an error and the secret's attributes.
        guard answer.output.isEmpty, answer.status != 0 else { return !answer.output.isEmpty }
        guard answer.errors.isEmpty else { throw refusal(answer) }
        return false
    }

    private var attributes: [String] {
        ["application", "cornerstore-vault", "bundle", bundleIdentifier, "place", place]
    }

    private func refusal(_ answer: Answer) -> VaultError {
        let reason = answer.errors.split(separator: "\n").first.map(String.init) ?? "status \(answer.status)"
        return VaultError(.storage, "the desktop's secret service does not respond: \(reason)")
    }

    // MARK: The program

    private struct Answer {
        var status: Int32
        var output: String
        var errors: String
    }

    /// The most bytes used of the program's output.
    private static let outputLimit = 4096

    /// Runs the program with Foundation's `Process`. swift-subprocess, which the servers use, would be one more package
    /// that every app with this library resolves and builds.
    private func run(_ arguments: [String], input: String) throws(VaultError) -> Answer {
        let process = Process()
        process.executableURL = Self.program
        process.arguments = arguments
        if let environment { process.environment = environment }
        let (question, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = question
        process.standardOutput = output
        process.standardError = errors
        do {
            try process.run()
        } catch {
            throw VaultError(
                .storage, "\(Self.program.path) cannot be started; install it (Debian: libsecret-tools)")
        }
        // SIGKILL: the program inherits the calling thread's signal mask, which may block SIGTERM.
        let alarm = DispatchWorkItem { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: alarm)
        defer { alarm.cancel() }
        // The write fails if the program has ended. Its exit status then has the reason.
        try? question.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try? question.fileHandleForWriting.close()
        let answer = Self.text(output)
        let complaint = Self.text(errors)
        process.waitUntilExit()
        guard process.terminationReason == .exit else {
            throw VaultError(
                .storage, "the desktop's secret service does not respond: stopped after \(Int(patience)) seconds")
        }
        return Answer(status: process.terminationStatus, output: answer, errors: complaint)
    }

    private static func text(_ pipe: Pipe) -> String {
        let bytes = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
        return String(decoding: bytes.prefix(outputLimit), as: UTF8.self)
    }
}
