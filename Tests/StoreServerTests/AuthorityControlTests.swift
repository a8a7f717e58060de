import ControlWire
import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store
@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct AuthorityControlTests {
    @Test func leavesAreReplacedAndEarlierReceiptsStayValid() async throws {
        try await withServer { server async throws in
            let session = try await server.signIn()
            let before = try await server.control("GET", ControlRoute.authority.path)
                .decoded(ControlAPI.Authority.self)
            #expect(before.certificates.count == 8)
            #expect(before.ocspUrl == "\(server.addresses.production)/ocsp")
            let route = ControlRoute.appReceipt(
                .sandbox, email: session.account.email, bundle: RunningServer.bundleID.rawValue)
            let receipt = try await server.control("GET", route.path).decoded(ControlAPI.Receipt.self)
            let bytes = [UInt8](try #require(Data(base64Encoded: receipt.receipt)))

            let rotated = try await server.control("POST", ControlRoute.rotateAuthority.path)
                .decoded(ControlAPI.Authority.self)
            let changed = zip(before.certificates, rotated.certificates).filter { $0.0.sha256 != $0.1.sha256 }
            #expect(
                changed.map { $0.0.name }.sorted() == [
                    "jws-production", "jws-sandbox", "receipt-production", "receipt-sandbox",
                ])
            #expect(rotated.ocspUrl == before.ocspUrl)
            let after = try await server.control("GET", ControlRoute.authority.path)
                .decoded(ControlAPI.Authority.self)
            #expect(after == rotated)
            #expect(try await server.verify(bytes).json["status"] as? Int == 0)
        }
    }

    /// Two processes with one database, which know of each other's changes only by reading again.
    @Test(arguments: Backend.available)
    func aSecondProcessSignsWithTheLeavesOfTheFirst(_ backend: Backend) async throws {
        let date = Date(timeIntervalSince1970: 1_770_000_000)
        try await TemporaryDirectory.with { directory async throws in
            let (folder, none) = (directory.url.appendingPathComponent("a"), directory.url.appendingPathComponent("b"))
            try await SharedAuthority.copy(to: folder)
            try await backend.withDatabase(migrations: AppSchema.migrations) { apps, _ async throws in
                let key = StoreKey()
                let first = try await CurrentAuthority.open(
                    try await StoreSecrets.open(apps, key: key), folder: folder, at: date)
                let second = try await CurrentAuthority.open(
                    try await StoreSecrets.open(apps, key: key), folder: none, at: date)
                func leaf(_ authority: CurrentAuthority) -> [UInt8] {
                    authority.receiptSigner(for: .sandbox).certificates[0]
                }
                let old = leaf(second)
                #expect(leaf(first) == old)
                try await first.rotateLeaves(at: date)
                #expect(leaf(first) != old && leaf(second) == old)
                try await second.reload()
                #expect(leaf(second) == leaf(first))
                #expect(!FileManager.default.fileExists(atPath: none.path))
            }
        }
    }
}
