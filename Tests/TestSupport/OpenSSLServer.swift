import Foundation

/// A TLS server with a certificate of its own for 127.0.0.1: `openssl s_server`.
public struct OpenSSLServer: Sendable {
    private struct Failure: Error { var reason: String }

    /// The path of the server's certificate, which no other certificate vouches for.
    public let certificate: String
    /// The port on 127.0.0.1.
    public let port: Int
    /// What the server sends, unless it serves files.
    public let input: FileHandle
    /// What the server receives, unless it serves files.
    public let output: FileHandle

    /// Runs a server for as long as `body` runs. The server also ends when the test is cancelled, as at its time limit,
    /// and when the test's process ends in any way.
    /// - Parameter options: further options of `openssl s_server`, such as `-WWW`, which serves the directory's files.
    public static func with<T>(
        in directory: TemporaryDirectory, _ options: [String] = [], _ body: (OpenSSLServer) async throws -> T
    ) async throws -> T {
        let (certificate, key) = (directory.path("certificate.pem"), directory.path("key.pem"))
        let making = Process()
        making.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        making.arguments =
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test"]
            + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
        making.standardError = FileHandle.nullDevice
        try making.run()
        making.waitUntilExit()
        guard making.terminationStatus == 0 else { throw Failure(reason: "openssl made no certificate") }

        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments =
            ["--pdeathsig", "KILL", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key]
            + options
        process.currentDirectoryURL = directory.url
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        ChildDescriptors.closeAll()
        try await start(process)
        @Sendable func end() { if process.isRunning { process.terminate() } }
        let (writer, reader) = (input.fileHandleForWriting, output.fileHandleForReading)
        return try await withTaskCancellationHandler {
            defer { end() }
            let port = try await RawConnection.run { try Self.port(in: reader) }
            return try await body(
                OpenSSLServer(certificate: certificate, port: port, input: writer, output: reader))
        } onCancel: {
            end()
        }
    }

    /// Starts the server on a thread that lives as long as it: Linux sends the signal that `setpriv` sets when the
    /// thread that started the child ends.
    private static func start(_ process: Process) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread {
                do { try process.run() } catch { return continuation.resume(throwing: error) }
                continuation.resume()
                process.waitUntilExit()
            }
        }
    }

    /// Reads the port from the server's first line, such as `ACCEPT 127.0.0.1:39441`.
    private static func port(in output: FileHandle) throws -> Int {
        var text = ""
        while true {
            if let match = text.firstMatch(of: /ACCEPT \S+:(\d+)\n/), let port = Int(match.1) { return port }
            let more = output.availableData
            guard !more.isEmpty else { throw Failure(reason: "openssl does not listen: \(text)") }
            text += String(decoding: more, as: UTF8.self)
        }
    }
}
