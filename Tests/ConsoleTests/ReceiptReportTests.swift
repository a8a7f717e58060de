import TestSupport
import Testing

@testable import Console

@Suite(.timeLimit(.minutes(1))) struct ReceiptReportTests {
    @Test func randomBytesNeverCrash() async throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            let count = Int.random(in: 1...400, using: &generator)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            bytes[0] = [0x30, 0x7B, bytes[0]].randomElement(using: &generator) ?? 0x30
            let report = ReceiptReport(inspecting: ReceiptInput(bytes))
            #expect(report.valid == false)
            #expect(report.reason != "ok")
        }
    }
}
