import Foundation
import Logging
import Synchronization
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct JSONLogHandlerTests {
    private final class Output: Sendable { let bytes = Mutex(Data()) }

    @Test func aClosedLogDoesNotEndTheProcess() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        let write = JSONLogHandler.writer(to: pipe.fileHandleForWriting)
        write(Data("read\n".utf8))
        #expect(pipe.fileHandleForReading.availableData == Data("read\n".utf8))
        try pipe.fileHandleForReading.close()
        write(Data("unread\n".utf8))
    }

    @Test func eachRecordIsOneLine() throws {
        let output = Output()
        var logger = Logger(label: "cornerstore") { label in
            JSONLogHandler(label: label) { line in output.bytes.withLock { $0 += line } }
        }
        logger[metadataKey: "hb.request.id"] = "17"
        logger.info("not written")
        logger.error(
            "first\nline", metadata: ["reason": "a \"b\" c=d\n", "list": ["x", ["y": "z"]], "hb.request.id": "18"])
        logger.notice("second")
        let lines = output.bytes.withLock { $0 }.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 2)
        let first = try #require(try JSONSerialization.jsonObject(with: lines[0]) as? [String: Any])
        #expect(first["level"] as? String == "error" && first["logger"] as? String == "cornerstore")
        #expect(first["message"] as? String == "first\nline")
        let metadata = try #require(first["metadata"] as? [String: Any])
        #expect(metadata["reason"] as? String == "a \"b\" c=d\n" && metadata["hb.request.id"] as? String == "18")
        #expect((metadata["list"] as? [Any])?.count == 2)
        let time = try #require(first["time"] as? String)
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time)")
        #expect(String(decoding: lines[1], as: UTF8.self).contains(#""hb.request.id":"17""#))
    }
}
