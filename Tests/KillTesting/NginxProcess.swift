import Foundation
import TestSupport

/// nginx in front of several servers.
struct NginxProcess: Sendable {
    private let child: Child
    private let end: Task<Child.Ending, Never>

    /// Debian's path of nginx, which is not on every user's PATH; nil when it is not installed.
    static var executable: URL? {
        ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }.map { URL(fileURLWithPath: $0) }
    }

    /// Starts nginx and waits until it listens.
    /// - Parameters:
    ///   - configuration: the contents of the block `http`.
    ///   - port: one of the ports at which it listens.
    ///   - folder: the folder for all its own files, which is created.
    /// - Throws: ``KillTestError`` when it is not installed or does not start.
    init(_ configuration: String, port: Int, in folder: URL) async throws {
        guard let executable = Self.executable else {
            throw KillTestError("nginx is not installed (Debian: apt-get install nginx-light)")
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder.path)/\($0);"
        }.joined(separator: " ")
        let file = folder.appendingPathComponent("nginx.conf")
        // Started by root, nginx would work as nobody, who has no access to the folder.
        try Data(
            """
            daemon off; worker_processes 1; pid \(folder.path)/pid; error_log stderr crit;
            \(getuid() == 0 ? "user root;" : "")
            events { worker_connections 1024; }
            http {
            access_log off; \(paths)
            \(configuration)
            }
            """.utf8
        ).write(to: file)
        let log = folder.appendingPathComponent("nginx.log")
        let child = try Child(
            executable, ["-p", folder.path, "-c", file.path, "-e", "stderr"], Programs.environment, log: log
        ) { _ in }
        self.child = child
        end = Task { await child.wait(within: .seconds(86_400)) }
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            if (try? await HTTPReply("GET", "http://127.0.0.1:\(port)/")) != nil { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        await stop()
        throw KillTestError("nginx did not start: \(ServerProcess.end(of: log))")
    }

    /// Stops it and waits for its end.
    func stop() async {
        child.signal(SIGTERM)
        _ = await end.value
    }
}
