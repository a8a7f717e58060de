import Crypto
import Foundation
import StoreWire
import Testing
import X509

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct CertificateAuthorityTests {
    @Test func isMadeOnceAndOpenedAfterwards() async throws {
        let directory = try TemporaryDirectory()
        let place = directory.url.appendingPathComponent("data/authority")
        let first = try await CertificateAuthority.open(directory: place, at: .sample)
        let again = try await CertificateAuthority.open(directory: place, at: .sample)
        #expect(first.receiptRoot == again.receiptRoot)
        #expect(first.jwsRoot == again.jwsRoot)
        for environment in StoreEnvironment.allCases {
            #expect(
                first.receiptSigner(for: environment).certificates == again.receiptSigner(for: environment).certificates
            )
            #expect(
                first.jwsIdentity(for: environment).certificates == again.jwsIdentity(for: environment).certificates)
        }
        #expect(
            first.receiptSigner(for: .production).leafCertificate != first.receiptSigner(for: .sandbox).leafCertificate)
        // Two authorities have nothing in common.
        let other = try await CertificateAuthority.open(
            directory: directory.url.appendingPathComponent("other"), at: .sample)
        #expect(other.receiptRoot != first.receiptRoot)
        let receipt = try other.receiptSigner(for: .sandbox).sign(.sample()).bytes
        let verifier = try ReceiptVerifier(roots: [first.receiptRoot])
        #expect(await verifier.verify(receipt, expecting: ReceiptExpectation()).refusal == .unknownIssuer)

        try await keysAreForTheOwnerOnly(place)
        try await receiptsVerifyOverTheWholeRange(again)
        try await rotatedLeavesLeaveOldReceiptsValid(first, place)
        try await damageIsNotRepaired(place)
    }

    private func keysAreForTheOwnerOnly(_ place: URL) async throws {
        func mode(_ url: URL) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber)
                .intValue
        }
        #expect(try mode(place) == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(names.count == 8)
        for name in names { #expect(try mode(place.appendingPathComponent(name)) == 0o600) }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: place.deletingLastPathComponent().path) == ["authority"]
        )
    }

    private func receiptsVerifyOverTheWholeRange(_ authority: CertificateAuthority) async throws {
        let verifier = try ReceiptVerifier(roots: [authority.receiptRoot])
        let range = CertificateAuthority.validity
        for date in [range.lowerBound, .sample, range.upperBound] {
            for environment in StoreEnvironment.allCases {
                let receipt = try authority.receiptSigner(for: environment).sign(.sample(creationDate: date))
                let answer = await verifier.verify(
                    receipt.bytes, expecting: ReceiptExpectation(bundleID: "com.example.app"))
                #expect(answer.refusal == nil, "\(date)")
            }
        }
        let root = try Certificate(derEncoded: authority.receiptRoot)
        #expect(root.subject.description.contains("TEST"))
        for environment in StoreEnvironment.allCases {
            let identity = authority.jwsIdentity(for: environment)
            let chain = try identity.certificates.map { try Certificate(derEncoded: $0) }
            #expect(chain[0].publicKey == Certificate.PublicKey(identity.privateKey.publicKey))
            #expect(chain[1].publicKey.isValidSignature(chain[0].signature, for: chain[0]))
            #expect(chain[2].publicKey.isValidSignature(chain[1].signature, for: chain[1]))
            #expect(
                chain[0].hasMarker(CertificateMarker.receiptSigning)
                    && chain[1].hasMarker(CertificateMarker.developerRelations))
        }
    }

    private func rotatedLeavesLeaveOldReceiptsValid(_ authority: CertificateAuthority, _ place: URL) async throws {
        let verifier = try ReceiptVerifier(roots: [authority.receiptRoot])
        let old = try authority.receiptSigner(for: .sandbox).sign(.sample()).bytes
        let rotated = try await authority.rotatingLeaves(at: .sample)
        let new = try rotated.receiptSigner(for: .sandbox).sign(.sample()).bytes
        let reopened = try await CertificateAuthority.open(directory: place, at: .sample)
        #expect(reopened.receiptRoot == authority.receiptRoot)
        for environment in StoreEnvironment.allCases {
            let leaf = rotated.receiptSigner(for: environment).leafCertificate
            #expect(leaf == reopened.receiptSigner(for: environment).leafCertificate)
            #expect(leaf != authority.receiptSigner(for: environment).leafCertificate)
        }
        #expect(await verifier.verify(old, expecting: ReceiptExpectation()).refusal == nil)
        #expect(await verifier.verify(new, expecting: ReceiptExpectation()).refusal == nil)
    }

    private func damageIsNotRepaired(_ place: URL) async throws {
        func code(_ change: (URL) throws -> Void) async throws -> ReceiptAuthorityError.Code? {
            let copy = place.deletingLastPathComponent().appendingPathComponent(UUID().uuidString)
            try FileManager.default.copyItem(at: place, to: copy)
            try change(copy)
            let names = try? FileManager.default.contentsOfDirectory(atPath: copy.path).sorted()
            do throws(ReceiptAuthorityError) {
                _ = try await CertificateAuthority.open(directory: copy, at: .sample)
                return nil
            } catch {
                #expect((try? FileManager.default.contentsOfDirectory(atPath: copy.path).sorted()) == names)
                #expect(!error.detail.contains("PRIVATE"))
                return error.code
            }
        }
        let files = FileManager.default
        func restrict(_ url: URL) throws {
            try files.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: url.path)
        }
        #expect(try await code { _ in } == nil)
        #expect(
            try await code { try files.removeItem(at: $0.appendingPathComponent("receipt-root.pem")) } == .incomplete)
        #expect(
            try await code { directory in
                for name in try files.contentsOfDirectory(atPath: directory.path) {
                    try files.removeItem(at: directory.appendingPathComponent(name))
                }
                try Data().write(to: directory.appendingPathComponent("something-else"))
            } == .incomplete)
        #expect(
            try await code {
                let file = $0.appendingPathComponent("receipt-sandbox.pem")
                try Data(try Data(contentsOf: file).prefix(900)).write(to: file)
                try restrict(file)
            } == .damaged)
        #expect(
            try await code {
                let file = $0.appendingPathComponent("receipt-sandbox.pem")
                try files.removeItem(at: file)
                try files.copyItem(at: $0.appendingPathComponent("receipt-root.pem"), to: file)
            } == .damaged)
        #expect(
            try await code {
                let file = $0.appendingPathComponent("jws-root.pem")
                try files.setAttributes([.posixPermissions: NSNumber(value: 0o644)], ofItemAtPath: file.path)
            } == .exposedKey)
        #expect(
            try await code {
                try files.removeItem(at: $0)
                try Data().write(to: $0)
            } == .storage)
    }

    @Test func refusesAClockOutsideItsCertificates() async throws {
        let directory = try TemporaryDirectory()
        await #expect(throws: ReceiptAuthorityError.self) {
            _ = try await CertificateAuthority.open(directory: directory.url, at: Date(timeIntervalSince1970: 0))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).isEmpty)
    }

    @Test func filesOfACrashedStartAreCreatedAgain() async throws {
        let directory = try TemporaryDirectory()
        let leftover = directory.url.appendingPathComponent(".authority.new")
        try FileManager.default.createDirectory(at: leftover, withIntermediateDirectories: true)
        try Data([1]).write(to: leftover.appendingPathComponent("receipt-root.pem"))
        let place = directory.url.appendingPathComponent("authority")
        // An empty directory, as whoever prepares a volume makes it, is as good as none.
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        _ = try await CertificateAuthority.open(directory: place, at: .sample)
        _ = try await CertificateAuthority.open(directory: place, at: .sample)
        #expect(!FileManager.default.fileExists(atPath: leftover.path))
    }
}
