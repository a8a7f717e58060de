import Crypto
import CryptoExtras
import Foundation
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct HostileReceiptTests {
    private let chain: TestChain.Made
    private let bytes: [UInt8]
    private let verifier: ReceiptVerifier

    init() async throws {
        chain = try TestChain().make()
        bytes = try chain.signer().sign(.sample(purchases: 1)).bytes
        verifier = try ReceiptVerifier(roots: [chain.root])
        // The hot path is the one to attack.
        #expect(await verifier.verify(bytes, expecting: ReceiptExpectation()).refusal == nil)
    }

    @Test func noByteMayBeChanged() async throws {
        var generator = SeededGenerator(seed: 7)
        for position in bytes.indices {
            var forged = bytes
            forged[position] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
            #expect(await verifier.verify(forged, expecting: ReceiptExpectation()).refusal != nil, "byte \(position)")
        }
    }

    /// The one bit that a certificate's own signature does not cover: how many bits of that signature's last octet do
    /// not count.
    @Test func aCertificateHasOneEncoding() async throws {
        var made = chain
        // The last bit must be zero, or X.509 refuses to leave it out.
        while made.leaf.last.map({ $0 & 1 }) != 0 { made = try TestChain().make() }
        var leaf = made.leaf
        #expect(leaf[leaf.count - 257] == 0)
        leaf[leaf.count - 257] = 1
        let whole = try made.signer().sign(.sample(purchases: 1)).bytes
        let start = try #require(whole.indices.first { whole[$0...].starts(with: made.leaf) })
        let forged = whole[..<start] + leaf + whole[(start + leaf.count)...]
        let fresh = try ReceiptVerifier(roots: [made.root])
        #expect(await fresh.verify(whole, expecting: ReceiptExpectation()).refusal == nil)
        #expect(await fresh.verify(Array(forged), expecting: ReceiptExpectation()).refusal == .malformed)
    }

    @Test func everyPrefixIsTruncated() async throws {
        for count in bytes.indices {
            let answer = await verifier.verify(Array(bytes[..<count]), expecting: ReceiptExpectation())
            #expect(answer.refusal == .truncated, "\(count) bytes")
        }
    }

    @Test func trailingBytesAreRefused() async throws {
        for tail in [[0], [0, 0], bytes] as [[UInt8]] {
            #expect(await verifier.verify(bytes + tail, expecting: ReceiptExpectation()).refusal == .trailingData)
        }
    }

    @Test func noiseIsRefused() async throws {
        var generator = SeededGenerator(seed: 99)
        for _ in 0..<20_000 {
            var noise = [UInt8].random(&generator, upTo: 200)
            // Half of it looks like a receipt at first.
            if Bool.random(using: &generator), noise.count > 20 {
                noise.replaceSubrange(0..<15, with: bytes[0..<4] + bytes[4..<15])
                noise[2] = 0
                noise[3] = UInt8(noise.count - 4)
            }
            #expect(await verifier.verify(noise, expecting: ReceiptExpectation()).refusal != nil)
        }
    }

    @Test func reorderedPiecesOfAReceiptAreRefused() async throws {
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<2_000 {
            var mixed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let from = Int.random(in: 0..<mixed.count - 40, using: &generator)
                let to = Int.random(in: 0..<mixed.count - 40, using: &generator)
                let count = Int.random(in: 1..<40, using: &generator)
                mixed.replaceSubrange(to..<to + count, with: Array(mixed[from..<from + count]))
            }
            if mixed == bytes { continue }
            #expect(await verifier.verify(mixed, expecting: ReceiptExpectation()).refusal != nil)
        }
    }

    @Test(arguments: [0x30, 0x24, 0xa0] as [UInt8])
    func deepNestingIsRefused(tag: UInt8) async throws {
        let indefinite: [UInt8] = (0..<100_000).flatMap { _ in [tag, 0x80] }
        let closed = indefinite + [UInt8](repeating: 0, count: 200_000)
        var definite: [UInt8] = []
        for _ in 0..<200 { definite = DERWriter.element(tag, definite) }
        #expect(await verifier.verify(indefinite, expecting: ReceiptExpectation()).refusal == .tooDeep)
        #expect(await verifier.verify(closed, expecting: ReceiptExpectation()).refusal == .tooDeep)
        #expect(await verifier.verify(definite, expecting: ReceiptExpectation()).refusal != nil)
    }

    @Test func impossibleLengthsAreRefused() async throws {
        let heads: [[UInt8]] = [
            [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], [0x30, 0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            [0x30, 0xff],
            [0x30, 0x81], [0x30], [], [0x1f, 0x81, 0x00], [0x00, 0x00], [0x04, 0x80, 0x00, 0x00],
        ]
        for head in heads {
            #expect(await verifier.verify(head + bytes.dropFirst(4), expecting: ReceiptExpectation()).refusal != nil)
            #expect(await verifier.verify(head, expecting: ReceiptExpectation()).refusal != nil)
        }
    }

    @Test func receiptsOverTheLimitsAreRefused() async throws {
        let huge = [UInt8](repeating: 0x30, count: (16 << 20) + 1)
        #expect(await verifier.verify(huge, expecting: ReceiptExpectation()).refusal == .tooLarge)
        let strict = try ReceiptVerifier(
            roots: [chain.root], limits: ReceiptLimits(byteCount: 1 << 20, attributeCount: 45)
        )
        #expect(await strict.verify(bytes, expecting: ReceiptExpectation()).refusal == nil)
        let many = try chain.signer().sign(.sample(purchases: 2)).bytes
        #expect(await strict.verify(many, expecting: ReceiptExpectation()).refusal == .tooLarge)
        let nine = try ReceiptSigner(key: chain.leafKey, certificates: Array(repeating: chain.leaf, count: 9))
        #expect(
            await verifier.verify(try nine.sign(.sample()).bytes, expecting: ReceiptExpectation()).refusal == .tooLarge)
    }

    /// Xcode's way of writing: indefinite lengths, and the payload in pieces or wrapped once more.
    @Test func aReceiptInBERCanBeRead() async throws {
        func indefinite(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, 0x80] + content + [0, 0] }
        let container = try ReceiptContainer.parse(bytes)
        func octets(_ part: some Sequence<UInt8>) -> [UInt8] { DERWriter.element(BERTag.octetString, Array(part)) }
        func message(_ content: [UInt8]) throws -> [UInt8] {
            try bytes.withUnsafeBytes { raw in
                var top = BERCursor(raw)
                var info = try top.inside(try top.next())
                let type = Array(raw[try info.next().whole])
                var explicit = try info.inside(try info.next())
                var body = try explicit.inside(try explicit.next())
                var parts: [[UInt8]] = []
                while !body.isAtEnd { parts.append(Array(raw[try body.next().whole])) }
                let dataType = DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.data)
                parts[2] = indefinite(BERTag.sequence, dataType + indefinite(BERTag.context0, content))
                let signedData = indefinite(BERTag.sequence, parts.flatMap { $0 })
                return indefinite(BERTag.sequence, type + indefinite(BERTag.context0, signedData))
            }
        }
        let payload = container.payload
        let pieces = octets(payload[..<100]) + indefinite(0x24, octets(payload[100..<101])) + octets(payload[101...])
        for content in [octets(payload), indefinite(0x24, octets(payload)), indefinite(0x24, pieces)] {
            let ber = try message(content)
            let answer = await verifier.verify(ber, expecting: ReceiptExpectation())
            #expect(answer.receipt == container.receipt)
            for count in ber.indices {
                let cut = await verifier.verify(Array(ber[..<count]), expecting: ReceiptExpectation())
                #expect(cut.refusal != nil, "\(count) bytes")
            }
        }
        let wrapped = try chain.signed(octets(payload))
        #expect(await verifier.verify(wrapped, expecting: ReceiptExpectation()).receipt == container.receipt)
    }

    @Test func contradictoryPayloadsAreRefused() async throws {
        let receipt = AppReceipt.sample(purchases: 0)
        let twice = AttributeSet.payload(try receipt.encodedPayload()) {
            $0.addText(2, BERTag.utf8String, "com.other.app".utf8)
        }
        let badDate = AttributeSet.payload(try receipt.encodedPayload()) {
            $0.addText(21, BERTag.ia5String, "tomorrow".utf8)
        }
        let badText = AttributeSet.payload(try receipt.encodedPayload()) {
            $0.addText(1_702, BERTag.utf8String, [0xff])
        }
        let notText = AttributeSet.payload(try receipt.encodedPayload()) { $0.addInteger(21, 3) }
        let halfPurchase = AttributeSet.payload(try receipt.encodedPayload()) {
            $0.addRaw(17, version: 1, [BERTag.set, 0])
        }
        for (payload, isRefused) in [
            (twice, true), (badDate, true), (badText, false), (notText, true), (halfPurchase, true),
            ([BERTag.set, 0], true),
        ] {
            let refusal = await verifier.verify(try chain.signed(payload), expecting: ReceiptExpectation()).refusal
            #expect(refusal == (isRefused ? .malformed : nil))
        }
    }
}

extension AttributeSet {
    /// A payload with something added.
    fileprivate static func payload(_ encoded: [UInt8], _ add: (inout AttributeSet) -> Void) -> [UInt8] {
        var extra = AttributeSet(expecting: 64)
        add(&extra)
        func content(_ set: [UInt8]) -> [UInt8] { Array(set.dropFirst(set[1] < 0x80 ? 2 : 2 + Int(set[1] & 0x7f))) }
        return DERWriter.element(BERTag.set, content(encoded) + content(extra.encoded()))
    }
}

extension TestChain.Made {
    /// A message with this payload, properly signed.
    fileprivate func signed(_ payload: [UInt8]) throws -> [UInt8] {
        let signature = try leafKey.signature(for: SHA256.hash(data: payload), padding: .insecurePKCS1v1_5)
        let writer = try SignedDataWriter(certificates: [leaf, intermediate, root])
        return writer.message(payload: payload, signature: Array(signature.rawRepresentation))
    }
}
