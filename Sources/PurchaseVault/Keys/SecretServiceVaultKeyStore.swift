import Dispatch
import Foundation

/// A key in the desktop's secret service (freedesktop.org, "Secret Service API": GNOME Keyring, KWallet, KeePassXC), which
/// keeps it encrypted under the person's login and can ask before it gives it to a program.
///
/// It speaks through `secret-tool` of libsecret (Debian: libsecret-tools); the key goes through pipes and stands in no
/// argument. Use it by itself where a desktop is certain, and ``DesktopVaultKeyStore`` where it is not.
public struct SecretServiceVaultKeyStore: VaultKeyStore {
    /// The program that speaks to the service.
    public static let program = URL(fileURLWithPath: "/usr/bin/secret-tool")

    private let bundleIdentifier: String
    private let place: String
    private let patience: TimeInterval
    private let environment: [String: String]?

    /// A key for one vault.
    ///
    /// - Parameters:
    ///   - configuration: Whose vault it is: its app, environment and folder name the key.
    ///   - patience: For how many seconds the person may be asked to unlock the keyring.
    ///   - environment: The variables by which the service is found, of which `DBUS_SESSION_BUS_ADDRESS` is the one that
    ///     counts; nil takes the process' own.
    public init(
        for configuration: VaultConfiguration, patience: TimeInterval = 120, environment: [String: String]? = nil
    ) {
        bundleIdentifier = configuration.bundleIdentifier
        place = configuration.markFolder.standardizedFileURL.path
        self.patience = patience
        self.environment = environment
    }

    /// Whether a service answers. It may still be locked.
    public var isAvailable: Bool { (try? isKept()) != nil }

    public func key() throws(VaultError) -> [UInt8]? {
        let text = try lookUp()
        // Whoever does not unlock the keyring when asked is told as little of a key as where there is none. Another key in
        // this one's place would put the whole vault aside.
        if text.isEmpty, try isKept() {
            throw VaultError(
                .storage,
                "the desktop's secret service keeps the vault's key and does not give it out; unlock its keyring")
        }
        guard let bytes = Data(base64Encoded: text), bytes.count == 32 else { return nil }
        return [UInt8](bytes)
    }

    public func keep(_ key: [UInt8]) throws(VaultError) {
        let label = "--label=Purchases of \(bundleIdentifier)"
        let answer = try run(["store", label] + attributes, input: Data(key).base64EncodedString())
        guard answer.status == 0 else { throw refusal(answer) }
        // What is not there to be read again would put the whole vault aside at the next opening.
        guard try self.key() == key else {
            throw VaultError(.storage, "the desktop's secret service took the vault's key and does not give it back")
        }
    }

    /// The secret's text; empty when the service answers and has none.
    private func lookUp() throws(VaultError) -> String {
        let answer = try run(["lookup"] + attributes, input: "")
        if answer.status == 0 { return answer.output }
        // The program says nothing when there is no such secret, and why when it could not ask.
        guard answer.errors.isEmpty else { throw refusal(answer) }
        return ""
    }

    /// Whether the service has the secret, locked or not. Nobody is asked to unlock anything.
    private func isKept() throws(VaultError) -> Bool {
        let answer = try run(["search"] + attributes, input: "")
        // It complains of a locked secret, and shows it.
        guard answer.output.isEmpty, answer.status != 0 else { return !answer.output.isEmpty }
        guard answer.errors.isEmpty else { throw refusal(answer) }
        return false
    }

    private var attributes: [String] {
        ["application", "cornerstore-vault", "bundle", bundleIdentifier, "place", place]
    }

    private func refusal(_ answer: Answer) -> VaultError {
        let reason = answer.errors.split(separator: "\n").first.map(String.init) ?? "status \(answer.status)"
        return VaultError(.storage, "the desktop's secret service does not answer: \(reason)")
    }

    // MARK: The program

    private struct Answer {
        var status: Int32
        var output: String
        var errors: String
    }

    /// The most that is read of what the program prints.
    private static let outputLimit = 4096

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
        // The program inherits the calling thread's signal mask, in which SIGTERM may be blocked; SIGKILL cannot be.
        let alarm = DispatchWorkItem { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: alarm)
        defer { alarm.cancel() }
        // A program that has ended reads nothing; its status says so.
        try? question.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try? question.fileHandleForWriting.close()
        let answer = Self.text(output)
        let complaint = Self.text(errors)
        process.waitUntilExit()
        guard process.terminationReason == .exit else {
            throw VaultError(
                .storage, "the desktop's secret service does not answer: stopped after \(Int(patience)) seconds")
        }
        return Answer(status: process.terminationStatus, output: answer, errors: complaint)
    }

    private static func text(_ pipe: Pipe) -> String {
        let bytes = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
        return String(decoding: bytes.prefix(outputLimit), as: UTF8.self)
    }
}
