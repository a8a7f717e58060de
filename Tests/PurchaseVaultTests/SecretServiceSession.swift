import Foundation
import TestSupport

/// A desktop session of its own: a message bus and GNOME Keyring as its secret service, in a temporary home.
final class SecretServiceSession {
    let environment: [String: String]
    private let bus = Process()
    private let keyring = Process()

    struct NotStarted: Error, CustomStringConvertible {
        var description: String
    }

    /// - Throws: ``NotStarted`` with the name of the program that is not installed, or does not start.
    init(home: URL) throws {
        for (package, program) in [
            ("dbus-daemon", "/usr/bin/dbus-daemon"), ("gnome-keyring", "/usr/bin/gnome-keyring-daemon"),
            ("libsecret-tools", "/usr/bin/secret-tool"),
        ] where !FileManager.default.isExecutableFile(atPath: program) {
            throw NotStarted(description: "\(program) is not installed (Debian: apt-get install \(package))")
        }
        let run = home.appendingPathComponent("run")
        try FileManager.default.createDirectory(
            at: run, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var environment = ["HOME": home.path, "XDG_RUNTIME_DIR": run.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"]
        let address = "unix:path=\(run.appendingPathComponent("bus").path)"
        environment["DBUS_SESSION_BUS_ADDRESS"] = address
        self.environment = environment
        let ready = Pipe()
        bus.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-daemon")
        let rules = run.appendingPathComponent("bus.conf")
        try Data(Self.busConfiguration(address).utf8).write(to: rules)
        bus.arguments = ["--config-file=\(rules.path)", "--nofork", "--print-address"]
        bus.environment = environment
        bus.standardOutput = ready
        bus.standardError = FileHandle.nullDevice
        ChildDescriptors.closeAll()
        try bus.run()
        // It prints its address once it listens.
        guard try ready.fileHandleForReading.read(upToCount: 1)?.isEmpty == false else {
            throw NotStarted(description: "dbus-daemon ended without an address")
        }
        let password = Pipe()
        keyring.executableURL = URL(fileURLWithPath: "/usr/bin/gnome-keyring-daemon")
        // In the foreground: Foundation takes a child for running while one of the child's own holds its sockets.
        keyring.arguments = ["--foreground", "--unlock", "--components=secrets"]
        keyring.environment = environment
        keyring.standardInput = password
        keyring.standardOutput = FileHandle.nullDevice
        keyring.standardError = FileHandle.nullDevice
        try keyring.run()
        try password.fileHandleForWriting.write(contentsOf: Data("a login's password".utf8))
        try password.fileHandleForWriting.close()
        let control = run.appendingPathComponent("keyring/control").path
        let end = ContinuousClock.now + .seconds(60)
        while access(control, F_OK) != 0 {
            guard ContinuousClock.now < end, keyring.isRunning else {
                throw NotStarted(description: "gnome-keyring-daemon made no \(control)")
            }
            usleep(1_000)
        }
        // The daemon takes its name on the bus a little later. Until then nobody answers there, since this bus starts
        // no services.
        while try !hasService() {
            guard ContinuousClock.now < end, keyring.isRunning else {
                throw NotStarted(description: "gnome-keyring-daemon did not take the name org.freedesktop.secrets")
            }
        }
    }

    /// Whether a secret service is on the bus.
    private func hasService() throws -> Bool {
        let process = Process()
        let answer = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-send")
        process.arguments = [
            "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
            "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets",
        ]
        process.environment = environment
        process.standardOutput = answer
        try process.run()
        let text = String(decoding: answer.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.contains("boolean true")
    }

    /// A session bus that starts no services. The usual one starts a program that asks for the keyring's password;
    /// without a display it fails, and the bus waits 25 s for it each time.
    private static func busConfiguration(_ address: String) -> String {
        """
        <busconfig>
          <type>session</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """
    }

    /// The keyring is locked, and nobody is there to unlock it.
    func lock() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-send")
        process.arguments = [
            "--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets",
            "org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/aliases/default",
        ]
        process.environment = environment
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw NotStarted(description: "dbus-send ended with \(process.terminationStatus)")
        }
    }

    /// The person logs out.
    func end() {
        for process in [keyring, bus] where process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    deinit { end() }
}
