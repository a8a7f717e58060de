import Foundation
import StoreWire
import Testing

@Suite(.timeLimit(.minutes(1))) struct UUIDTextTests {
    private func read(_ bytes: [UInt8]) -> UUID? { UUID(text: bytes.span) }

    @Test func identifiersAreEncodedAsFoundationDoesAndReadBack() {
        for _ in 0..<1_000 {
            let uuid = UUID()
            #expect(uuid.text == uuid.uuidString)
            #expect(read(Array(uuid.text.utf8)) == uuid)
            #expect(read(Array(uuid.text.lowercased().utf8)) == uuid)
        }
    }

    @Test func textsThatFoundationRefusesAreRefused() {
        let good = Array("0B8F2B2E-1C6D-7A3E-9F4A-5D6C7B8A9E0F".utf8)
        for position in good.indices {
            for byte in [UInt8(ascii: "-"), UInt8(ascii: "G"), UInt8(ascii: "/"), UInt8(ascii: ":"), 0, 0xFF]
            where byte != good[position] {
                var bad = good
                bad[position] = byte
                #expect(read(bad) == nil)
            }
        }
        #expect(read(good.dropLast().map { $0 }) == nil)
        #expect(read(good + [0x30]) == nil)
        #expect(read([UInt8]()) == nil)
    }
}
