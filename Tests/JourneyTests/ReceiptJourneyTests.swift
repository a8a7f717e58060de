import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("The receipt of a purchase, seen from outside", .timeLimit(.minutes(1)))
struct ReceiptJourneyTests {
    @Test(arguments: Backend.available)
    func `an app configured by its environment accepts a receipt under its root`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let password = store.configuration.dataDirectory.appendingPathComponent("password")
            try Data(JourneyDevice.password.utf8).write(to: password)
            var configuration = StoreKitConfiguration(
                environment: [
                    "CORNERSTORE_STORE": store.addresses.sandbox, "CORNERSTORE_ROOTS": store.receiptRoot.path,
                    "CORNERSTORE_DEVICE": device.folder.path, "CORNERSTORE_SHEET": "approve",
                    "CORNERSTORE_BUNDLE_ID": JourneyStore.bundleID.rawValue, "CORNERSTORE_BUNDLE_VERSION": "1.2",
                    "CORNERSTORE_ACCOUNT": device.email, "CORNERSTORE_PASSWORD_FILE": password.path,
                ], executable: nil)
            #expect(configuration.roots.count == 1)
            configuration.callbackQueue = DispatchQueue(label: "callbacks")
            let grants = Grants()
            let app = JourneyApp(device.launch(configuration), grants: grants)
            app.queue.add(payment("credits5", quantity: 2))
            #expect(
                await app.told(3)
                    == ["updated purchasing credits5", "updated purchased credits5", "removed purchased credits5"])
            #expect(app.engine.receiptURL == device.receiptURL && Array(grants.all.values) == [2])
            #expect(try await device.checkedReceipt().inApp.map(\.quantity) == [2])
            await app.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `under another root the purchase waits and is not lost`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store)
            let stranger = try await CertificateAuthority.open(
                directory: device.folder.deletingLastPathComponent().appendingPathComponent("stranger"), at: Date())
            let root = store.configuration.dataDirectory.appendingPathComponent("stranger.der")
            try Data(stranger.receiptRoot).write(to: root)
            var configuration = device.configuration()
            configuration.roots = [root]
            let (words, say) = AsyncStream.makeStream(of: String.self)
            configuration.diagnostics = { say.yield($0) }
            let grants = Grants()
            var app = JourneyApp(device.launch(configuration), grants: grants)
            app.queue.add(payment("credits5"))
            var refusals = 0
            // Twice, so that it was tried again.
            for await word in words where word.contains("was refused") {
                refusals += 1
                if refusals == 2 { break }
            }
            #expect(await app.told(1) == ["updated purchasing credits5"])
            #expect(grants.all.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: device.receiptURL.path))
            await app.stop()
            let ledger = try await device.ledger()
            #expect(ledger.transactions.map(\.isFinished) == [false] && ledger.payments.count == 1)
            #expect(try device.journal().map(\.key.uuidString) == ledger.purchases.map(\.key))

            configuration.roots = [store.receiptRoot]
            app = JourneyApp(device.launch(configuration), grants: grants)
            #expect(
                await app.told(3)
                    == ["updated purchasing credits5", "updated purchased credits5", "removed purchased credits5"])
            let after = try await device.ledger()
            #expect(after.payments == ledger.payments && after.transactions.map(\.isFinished) == [true])
            #expect(grants.all.count == 1)
            await app.stop()
        }
    }

    private static let openSSL = ["/usr/bin/openssl", "/usr/local/bin/openssl"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: Self.openSSL != nil, "openssl is not installed"))
    func `openssl verifies the receipt on disk under the store's root`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store)
            let app = JourneyApp(device.launch(), grants: Grants())
            app.queue.add(payment("hats"))
            await app.told(3)
            await app.stop()
            let root = device.folder.appendingPathComponent("root.pem")
            let pem = try Data(contentsOf: store.receiptRoot).base64EncodedString(options: [
                .lineLength64Characters, .endLineWithLineFeed,
            ])
            try Data("-----BEGIN CERTIFICATE-----\n\(pem)\n-----END CERTIFICATE-----\n".utf8).write(to: root)
            let payload = device.folder.appendingPathComponent("payload.der")
            let arguments = [
                "cms", "-verify", "-inform", "DER", "-in", device.receiptURL.path, "-CAfile", root.path,
                "-out", payload.path,
            ]
            #expect(try Self.run(arguments) == 0)
            let receipt = [UInt8](try device.receipt())
            #expect([UInt8](try Data(contentsOf: payload)) == (try ReceiptContainer.parse(receipt)).payload)
        }
    }

    private static func run(_ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: openSSL ?? "")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
