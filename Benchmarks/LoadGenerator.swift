import Foundation
import NIOCore
import NIOPosix

/// The result of one run of load.
struct LoadResult: Sendable {
    /// The number of complete answers with status 200 in the measured time, and the number of failures.
    var succeeded: Int
    var failed: Int
    /// The measured time, in seconds.
    var seconds: Double
    /// The latencies of successful answers in microseconds, in ascending order.
    var latencies: [UInt32]
    /// The part of one core that the generator used. Near 1, the generator and not the server was the limit.
    var generatorShare: Double
    /// The first failure.
    var firstFailure: String?

    var perSecond: Double { Double(succeeded) / seconds }

    /// The latency that `part` (0 to 1) of the answers did not exceed, in milliseconds.
    func percentile(_ part: Double) -> Double {
        guard !latencies.isEmpty else { return .nan }
        return Double(latencies[min(latencies.count - 1, Int(Double(latencies.count) * part))]) / 1000
    }

    /// This result and that of another turn of the same load. The latencies are no longer in order.
    func adding(_ other: LoadResult) -> LoadResult {
        let all = seconds + other.seconds
        return LoadResult(
            succeeded: succeeded + other.succeeded, failed: failed + other.failed, seconds: all,
            latencies: latencies + other.latencies,
            generatorShare: (generatorShare * seconds + other.generatorShare * other.seconds) / all,
            firstFailure: firstFailure ?? other.firstFailure)
    }
}

/// Keeps a server busy over HTTP/1.1 with a number of clients, each of which sends a request as soon as it has the
/// answer to the last. It uses one thread, prepares requests in advance, and parses only as much of an answer as is
/// needed to find its end.
struct LoadGenerator: Sendable {
    /// The bytes of one request: `client` counts from 0, `sequence` is the client's own count from 0.
    typealias Requests = @Sendable (_ client: Int, _ sequence: Int) -> ByteBuffer

    var clients: Int
    /// Not counted.
    var warmUp: Double
    /// Counted.
    var seconds: Double
    /// Checks the body of each client's first answer and of every 64th after it, because an answer with status 200 can
    /// report a failure.
    var accepts: @Sendable (ByteBufferView) -> Bool = { _ in true }

    func run(port: Int, requests: @escaping Requests) async throws -> LoadResult {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        do {
            let result = try await loop.flatSubmit { () -> EventLoopFuture<LoadResult> in
                do { try Processors.forLoad?.claimCallingThread() } catch { return loop.makeFailedFuture(error) }
                let run = LoadRun(loop: loop, plan: self, requests: requests)
                run.start(port: port)
                return run.finished.futureResult
            }.get()
            try await group.shutdownGracefully()
            return result
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// The bytes of a GET of a path of this machine.
    static func get(_ path: String, token: String? = nil) -> ByteBuffer {
        let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return ByteBuffer(string: "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization)\r\n")
    }

    /// The bytes of a POST to a path of this machine.
    static func post(
        _ path: String, contentType: String = "application/json", token: String? = nil, body: some Sequence<UInt8>
    )
        -> ByteBuffer
    {
        let bytes = Array(body)
        let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        var buffer = ByteBuffer(
            string: "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: \(contentType)\r\n\(authorization)"
                + "Content-Length: \(bytes.count)\r\n\r\n"
        )
        buffer.writeBytes(bytes)
        return buffer
    }
}

/// The state of one run; it lives on its event loop and nowhere else.
private final class LoadRun {
    let plan: LoadGenerator
    let requests: LoadGenerator.Requests
    let finished: EventLoopPromise<LoadResult>
    private let loop: any EventLoop
    private var result = LoadResult(succeeded: 0, failed: 0, seconds: 0, latencies: [], generatorShare: 0)
    private var isMeasuring = false
    private(set) var isOver = false
    private var measuredFrom = NIODeadline.now()
    private var threadTime = 0.0
    private var channels: [any Channel] = []

    init(loop: any EventLoop, plan: LoadGenerator, requests: @escaping LoadGenerator.Requests) {
        self.loop = loop
        self.plan = plan
        self.requests = requests
        finished = loop.makePromise()
    }

    func start(port: Int) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        for client in 0..<plan.clients {
            let bootstrap = ClientBootstrap(group: loop)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connectTimeout(.seconds(5))
            bootstrap.channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(LoadClient(number: client, run: bound.value))
                }
            }.connect(host: "127.0.0.1", port: port).whenComplete { outcome in
                switch outcome {
                case .success(let channel): bound.value.channels.append(channel)
                case .failure(let error): bound.value.failed("cannot connect: \(error)")
                }
            }
        }
        loop.scheduleTask(in: .microseconds(Int64(plan.warmUp * 1_000_000))) { bound.value.measure() }
    }

    private func measure() {
        result = LoadResult(
            succeeded: 0, failed: result.failed, seconds: 0, latencies: [], generatorShare: 0,
            firstFailure: result.firstFailure
        )
        isMeasuring = true
        measuredFrom = .now()
        threadTime = Self.threadTime()
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: .microseconds(Int64(plan.seconds * 1_000_000))) { bound.value.finish() }
    }

    private func finish() {
        isOver = true
        isMeasuring = false
        result.seconds = Double((NIODeadline.now() - measuredFrom).nanoseconds) * 1e-9
        result.generatorShare = (Self.threadTime() - threadTime) / result.seconds
        result.latencies.sort()
        let finished = finished
        let result = result
        // Close the sockets before returning, so that the next run begins with an idle server.
        EventLoopFuture.andAllComplete(channels.map { $0.close() }, on: loop).whenComplete { _ in
            finished.succeed(result)
        }
    }

    func succeeded(after latency: TimeAmount) {
        guard isMeasuring else { return }
        result.succeeded += 1
        result.latencies.append(UInt32(clamping: latency.nanoseconds / 1000))
    }

    func failed(_ reason: String) {
        guard !isOver else { return }
        result.failed += 1
        if result.firstFailure == nil { result.firstFailure = reason }
    }

    /// Processor time of the calling thread, in seconds.
    private static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}

/// One client: a connection that is kept alive.
private final class LoadClient: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private let run: LoadRun
    private var sequence = 0
    private var asked = NIODeadline.now()
    private var answer = AnswerReader()

    init(number: Int, run: LoadRun) {
        self.number = number
        self.run = run
    }

    func channelActive(context: ChannelHandlerContext) { ask(context) }

    private func ask(_ context: ChannelHandlerContext) {
        guard !run.isOver else { return }
        asked = .now()
        context.writeAndFlush(wrapOutboundOut(run.requests(number, sequence)), promise: nil)
        sequence += 1
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            guard let complete = try answer.read(unwrapInboundIn(data)) else { return }
            let isSample = sequence % 64 == 1
            if complete.status != 200 {
                run.failed("status \(complete.status): \(String(buffer: complete.body).prefix(300))")
            } else if isSample, !run.plan.accepts(complete.body.readableBytesView) {
                run.failed("an answer of status 200 that means no: \(String(buffer: complete.body).prefix(300))")
            } else {
                run.succeeded(after: .now() - asked)
            }
            ask(context)
        } catch {
            run.failed("\(error)")
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { run.failed("the server closed a connection") }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        run.failed("\(error)")
        context.close(promise: nil)
    }
}
