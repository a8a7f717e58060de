import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// The baseline of all HTTP figures: a Hummingbird handler that only reads a body, counts it and answers a given number
/// of bytes.
struct BareServer {
    static let path = "/bare"
    /// The path that answers the number of requests for ``path`` so far and a time in nanoseconds, separated by a
    /// space.
    static let countPath = "/bare/count"
    static let subcommand = "bare-server"

    var answerBytes: Int

    /// Serves on a free loopback port, prints `ready PORT`, and ends when standard input ends.
    func run() async throws {
        let answer = ByteBuffer(repeating: UInt8(ascii: "x"), count: answerBytes)
        let received = Counter()
        let router = Router()
        router.get(RouterPath(Self.countPath)) { _, _ -> Response in
            let count = received.value.load(ordering: .relaxed)
            return Response(
                status: .ok, headers: [.contentType: "text/plain"],
                body: ResponseBody(
                    byteBuffer: ByteBuffer(string: "\(count) \(NIODeadline.now().uptimeNanoseconds)")))
        }
        router.post(RouterPath(Self.path)) { request, _ -> Response in
            _ = try await request.body.collect(upTo: 16 << 20)
            _ = received.value.add(1, ordering: .relaxed)
            return Response(
                status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: answer)
            )
        }
        var logger = Logger(label: "bare")
        logger.logLevel = .critical
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                print("ready \(channel.localAddress?.port ?? 0)")
                fflush(nil)
            },
            logger: logger
        )
        Self.endWithStandardInput()
        try await application.runService()
    }

    /// Ends the child with the measurement, even if the measurement is killed.
    static func endWithStandardInput() {
        Thread.detachNewThread {
            while let data = try? FileHandle.standardInput.read(upToCount: 1024), !data.isEmpty {}
            exit(0)
        }
    }
}
