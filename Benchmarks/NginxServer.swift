import AsyncHTTPClient
import Foundation

/// An nginx that serves one folder, if it is installed: the baseline for downloads.
struct NginxServer {
    let child: ChildProcess
    let port: Int

    /// Debian's path of nginx, which is not on every user's PATH.
    static var executable: URL? {
        ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }.map { URL(filePath: $0) }
    }

    /// Starts nginx with a folder for all its own files.
    /// - Returns: Nil when nginx is not installed.
    static func start(serving root: URL, in folder: URL) async throws -> NginxServer? {
        guard let executable else { return nil }
        let port = try freePort()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder.path)/\($0);"
        }.joined(separator: " ")
        // Started by root, nginx would read files as nobody, who has no access.
        let configuration = """
            daemon off; worker_processes auto; pid \(folder.path)/pid; error_log stderr crit;
            \(getuid() == 0 ? "user root;" : "")
            events { worker_connections 512; }
            http { access_log off; sendfile on; tcp_nopush on; \(paths)
              server { listen 127.0.0.1:\(port); root \(root.path); } }
            """
        let file = folder.appending(path: "nginx.conf")
        try Data(configuration.utf8).write(to: file)
        let child = try ChildProcess(executable, ["-p", folder.path, "-c", file.path, "-e", "stderr"])
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/")
            if (try? await HTTPClient.shared.execute(request, timeout: .seconds(5))) != nil {
                return NginxServer(child: child, port: port)
            }
            guard child.isRunning else { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        child.stop()
        throw BenchmarkError("nginx does not start")
    }

    /// Returns a free port.
    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
            }
        }
        guard result == 0 else { throw BenchmarkError("no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
