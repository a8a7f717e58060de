import Foundation
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct ReceiptSignerTests {
    @Test func signedReceiptsAreReadBackUnchanged() throws {
        let signer = try TestChain().make().signer()
        var generator = SeededGenerator(seed: 20_240_223)
        for number in 0..<60 {
            let receipt = AppReceipt.random(&generator)
            let container = try ReceiptContainer.parse(try signer.sign(receipt).bytes)
            #expect(container.receipt == (try receipt.inOrderOfEncoding), "receipt \(number)")
            #expect(container.certificates == signer.certificates)
            #expect(container.digest == .sha256)
            #expect(!container.hasSignedAttributes)
        }
    }

    /// The usual ones share one array, from which what comes must not differ, however far it agrees.
    @Test func otherAttributesAreReadBackWithAnyOfTheUsualOnes() throws {
        let usual = InAppPurchase.serverAttributes
        var lists =
            (0...usual.count).map { Array(usual.prefix($0)) } + (0..<usual.count).map { Array(usual.suffix($0)) }
        for index in usual.indices {
            var changed = usual
            changed[index].value.append(0)
            lists.append(changed)
            changed = usual
            changed[index].version = -2
            lists.append(changed)
            changed.remove(at: index)
            lists.append(changed)
            lists.append(Array(usual.prefix(index)) + [ReceiptAttribute(type: 1_730, version: 1, value: [])])
        }
        var receipt = AppReceipt.sample(purchases: 1)
        for list in lists {
            receipt.inApp[0].otherAttributes = list
            let payload = try receipt.encodedPayload()
            let read = try payload.withUnsafeBytes { (raw) throws(ReceiptRejection) -> AppReceipt in
                var reader = PayloadReader(limits: .standard)
                return try reader.receipt(raw)
            }
            #expect(read == (try receipt.inOrderOfEncoding), "\(list.map(\.type))")
        }
    }

    @Test func bothSetsAreSortedByTheirEncoding() throws {
        var receipt = AppReceipt.sample(purchases: 9)
        receipt.inApp.reverse()
        for payload in [try receipt.encodedPayload(), try receipt.inApp[0].encoded()] {
            let elements = try encodedElements(payload)
            #expect(elements.count >= 20)
            #expect(elements == elements.sorted { $0.lexicographicallyPrecedes($1) })
        }
    }

    @Test func datesAreCutToSeconds() throws {
        let signer = try TestChain().make().signer()
        var receipt = AppReceipt.sample(purchases: 0)
        receipt.creationDate = Date.sample.addingTimeInterval(0.75)
        #expect(try ReceiptContainer.parse(signer.sign(receipt).bytes).receipt.creationDate == .sample)
    }

    @Test func unreadableReceiptsAreRefused() throws {
        let signer = try TestChain().make().signer()
        func code(_ change: (inout AppReceipt) -> Void) -> ReceiptAuthorityError.Code? {
            var receipt = AppReceipt.sample()
            change(&receipt)
            do throws(ReceiptAuthorityError) {
                _ = try signer.sign(receipt)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code { _ in } == nil)
        #expect(code { $0.creationDate = .distantFuture.addingTimeInterval(1e12) } == .unencodable)
        #expect(code { $0.inApp[0].purchaseDate = Date(timeIntervalSince1970: -1e11) } == .unencodable)
        #expect(code { $0.bundleIDValue = [] } == .unencodable)
        #expect(code { $0.ageRating = "４+" } == .unencodable)
        #expect(code { $0.otherAttributes.append(ReceiptAttribute(type: 2, version: 1, value: [])) } == .unencodable)
        #expect(code { $0.otherAttributes.append(ReceiptAttribute(type: 14, version: 1, value: [])) } == .unencodable)
        #expect(
            code { $0.inApp[0].otherAttributes = [ReceiptAttribute(type: 1_702, version: 1, value: [])] }
                == .unencodable)
    }

    @Test func theKeyMustBelongToTheLeaf() throws {
        let chain = try TestChain().make()
        #expect(throws: ReceiptAuthorityError.self) {
            _ = try ReceiptSigner(key: TestChain.keys[3], certificates: [chain.leaf, chain.intermediate, chain.root])
        }
    }

    @Test(.enabled(if: OpenSSL.path != nil, "openssl is not installed"))
    func openSSLAccepts() throws {
        let directory = try TemporaryDirectory()
        let chain = try TestChain().make()
        let receipt = try chain.signer().sign(.sample(purchases: 10))
        let root = directory.url.appendingPathComponent("root.pem")
        let message = directory.url.appendingPathComponent("receipt")
        let output = directory.url.appendingPathComponent("payload")
        try OpenSSL.pem(chain.root).write(to: root, atomically: true, encoding: .utf8)
        try Data(receipt.bytes).write(to: message)
        let arguments = [
            "cms", "-verify", "-inform", "DER", "-in", message.path, "-CAfile", root.path, "-out", output.path,
        ]
        #expect(try OpenSSL.run(arguments) == 0)
        #expect(Array(try Data(contentsOf: output)) == (try ReceiptContainer.parse(receipt.bytes)).payload)
        var forged = receipt.bytes
        forged[200] ^= 1
        try Data(forged).write(to: message)
        #expect(try OpenSSL.run(arguments) != 0)
    }

    private func encodedElements(_ set: [UInt8]) throws -> [[UInt8]] {
        try set.withUnsafeBytes { raw in
            var top = BERCursor(raw)
            var cursor = try top.inside(try top.next(BERTag.set, "a set"))
            var elements: [[UInt8]] = []
            while !cursor.isAtEnd { elements.append(Array(raw[try cursor.next().whole])) }
            return elements
        }
    }
}

/// The reference implementation, where it is installed.
enum OpenSSL {
    static let path = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/opt/homebrew/bin/openssl"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    static func run(_ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path ?? "")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    static func pem(_ der: [UInt8]) -> String {
        "-----BEGIN CERTIFICATE-----\n"
            + Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            + "\n-----END CERTIFICATE-----\n"
    }
}
