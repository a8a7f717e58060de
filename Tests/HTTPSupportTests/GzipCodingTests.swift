import NIOCore
import Testing

@testable import HTTPSupport

@Suite(.timeLimit(.minutes(1))) struct GzipCodingTests {
    @Test(
        arguments: [
            (nil, false), ("", false), ("gzip", true), ("GZIP", true), ("x-gzip", true),
            ("deflate, gzip;q=0.5, br", true),
            ("gzip;q=0", false), ("gzip; q=0.0", false), ("gzip;q=x", false), ("*", true), ("*;q=0", false),
            ("gzip;q=0, *", false), ("*;q=0, gzip", true), ("deflate", false), ("identity", false), ("gzipped", false),
            (";;q=1,,", false),
        ] as [(String?, Bool)])
    func theClientDecides(_ field: String?, _ isAccepted: Bool) {
        #expect(GzipCoding.isAccepted(field) == isAccepted, "\(field ?? "none")")
    }

    @Test func aFieldThatIsTooLongIsNotRead() {
        #expect(!GzipCoding.isAccepted("gzip," + String(repeating: "x,", count: 1_000)))
    }

    @Test func onlyTextsThatBecomeSmallerAreCompressed() {
        func size(_ bytes: [UInt8]) -> Int? { GzipCoding.compressed(ByteBuffer(bytes: bytes))?.readableBytes }
        #expect(size([]) == nil && size(Array(repeating: 65, count: 255)) == nil)
        #expect(size(Array(repeating: 65, count: (4 << 20) + 1)) == nil)
        let compressed = size(Array(repeating: 65, count: 4 << 20))
        #expect(compressed.map { $0 < 64 << 10 } == true)
        // A generator's bytes repeat nothing.
        var state: UInt64 = 1
        let noise = (0..<4_096).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        #expect(size(noise) == nil)
    }
}
