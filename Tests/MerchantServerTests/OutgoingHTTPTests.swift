import AsyncHTTPClient
import Foundation
import Hummingbird
import NIOCore
import TestSupport
import Testing

@testable import MerchantServer

@Suite(.timeLimit(.minutes(1))) struct OutgoingHTTPTests {
    /// A host that sends a head and the beginning of a body, and then nothing until `body` has ended.
    private func withStallingHost(_ body: @escaping @Sendable (URL) async throws -> Void) async throws {
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        let router = Router()
        router.post("stalls") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody(contentLength: 100) { writer in
                    try await writer.write(ByteBuffer(string: "{"))
                    for await _ in silence {}
                })
        }
        try await LoopbackServer.with(router) { url in
            defer { end.finish() }
            try await body(url.appendingPathComponent("stalls"))
        }
    }

    @Test func anAnswerThatStopsIsGivenUp() async throws {
        try await withStallingHost { url in
            let error = await #expect(throws: HTTPClientError.self) {
                try await OutgoingHTTP.post([1], to: url, headers: [], answerLimit: 1_000, timeout: .milliseconds(300))
            }
            #expect(error == .deadlineExceeded)
        }
    }

    @Test func aBodyThatDoesNotMatterIsNotWaitedFor() async throws {
        try await withStallingHost { url in
            // One that waits for the body fails at the end of this time.
            let answer = try await OutgoingHTTP.post(
                [1], to: url, headers: [], answerLimit: nil, timeout: .seconds(60))
            #expect(answer.status == 200)
        }
    }

    @Test func manyAreAskedAtOnce() async throws {
        let (arrived, arrive) = AsyncStream.makeStream(of: Void.self)
        let (silence, end) = AsyncStream.makeStream(of: Void.self)
        let router = Router()
        router.post("waits") { _, _ in
            arrive.yield()
            for await _ in silence {}
            return "done"
        }
        try await LoopbackServer.with(router) { url in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await OutgoingHTTP.post(
                            [1], to: url.appendingPathComponent("waits"), headers: [], answerLimit: 100,
                            timeout: .seconds(60)
                        ).status
                    }
                }
                // All are there before the first is answered.
                var count = 0
                for await _ in arrived {
                    count += 1
                    if count == 20 { break }
                }
                end.finish()
                for try await status in group { #expect(status == 200) }
            }
        }
    }
}
