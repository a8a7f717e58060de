import Foundation
import StoreReceipts
import StoreWire
import Testing

@testable import StoreKit

@Suite("The receipt is checked before it is written", .timeLimit(.minutes(1)))
struct ReceiptCheckTests {
    let device: TestDevice
    let authority: CertificateAuthority
    let roots: [URL]

    init() async throws {
        device = try TestDevice()
        try FileManager.default.createDirectory(at: device.folder, withIntermediateDirectories: true)
        authority = try await CertificateAuthority.open(
            directory: device.folder.appendingPathComponent("authority"), at: Date(timeIntervalSince1970: 1_700_000_000)
        )
        roots = [device.folder.appendingPathComponent("root.der")]
        try Data(authority.receiptRoot).write(to: roots[0])
    }

    /// A receipt as the store would make it, but for what is wrong with it.
    private static func receipt(
        _ authority: CertificateAuthority, _ request: AppReceiptRequest, environment: StoreEnvironment = .sandbox
    ) throws -> Data {
        let bundleIDValue = AppReceipt.bundleIDValue(request.bundleID.rawValue)
        let opaqueValue = [UInt8](0..<16)
        let receipt = AppReceipt(
            receiptType: environment.receiptType, appItemID: 0, bundleID: request.bundleID.rawValue,
            bundleIDValue: bundleIDValue, applicationVersion: request.bundleVersion, opaqueValue: opaqueValue,
            deviceHash: AppReceipt.deviceHash(
                deviceIdentifier: withUnsafeBytes(of: request.vendorIdentifier.uuid) { Array($0) },
                opaqueValue: opaqueValue, bundleIDValue: bundleIDValue),
            downloadDate: nil, fulfillmentToolVersion: nil, ageRating: nil, developerID: nil,
            creationDate: Date(timeIntervalSince1970: 1_700_000_000), systemVersion: nil, downloadID: 0,
            versionExternalIdentifier: 0, inApp: [], originalPurchaseDate: nil, originalApplicationVersion: nil,
            expirationDate: nil, otherAttributes: [])
        return Data(try authority.receiptSigner(for: environment).sign(receipt).bytes)
    }

    @Test func `a receipt is accepted only for this app, version, device, environment and roots`()
        async throws
    {
        let vendor = TestDevice.key(7)
        let good = AppReceiptRequest(bundleID: "com.example.monkeys", bundleVersion: "3", vendorIdentifier: vendor)
        let check = try ReceiptCheck(
            roots: roots, bundleID: "com.example.monkeys", bundleVersion: "3", vendorIdentifier: vendor,
            environment: .sandbox)
        let receipt = try Self.receipt(authority, good)
        #expect(await check.refusal(of: receipt) == nil)

        var other = good
        other.bundleID = "com.example.apes"
        #expect(await check.refusal(of: try Self.receipt(authority, other)) != nil)
        other = good
        other.bundleVersion = "4"
        #expect(await check.refusal(of: try Self.receipt(authority, other)) != nil)
        other = good
        other.vendorIdentifier = TestDevice.key(8)
        #expect(await check.refusal(of: try Self.receipt(authority, other)) != nil)
        #expect(await check.refusal(of: try Self.receipt(authority, good, environment: .production)) != nil)
        #expect(await check.refusal(of: Data()) != nil)
        #expect(await check.refusal(of: receipt.dropLast()) != nil)
        var changed = receipt
        changed[changed.count / 3] ^= 1
        #expect(await check.refusal(of: changed) != nil)

        let stranger = try await CertificateAuthority.open(
            directory: device.folder.appendingPathComponent("other"), at: Date(timeIntervalSince1970: 1_700_000_000))
        #expect(await check.refusal(of: try Self.receipt(stranger, good)) != nil)
    }

    @Test func `a bad receipt is not written, and the purchase waits for a valid one`() async throws {
        let said = LockedList<String>()
        var configuration = device.configuration()
        configuration.roots = roots
        configuration.diagnostics = { said.append($0) }
        device.store.change { $0.makeReceipt = { _ in Data("not a receipt".utf8) } }
        let timer = ManualTimer()
        let engine = device.launch(configuration, timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        await timer.fire()
        await observer.wait(count: 1)
        #expect(observer.history == ["updated purchasing - credits5"])
        let file = try #require(engine.receiptURL)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(said.all.contains { $0.contains("was refused") })

        let authority = authority
        device.store.change { $0.makeReceipt = { (try? Self.receipt(authority, $0)) ?? Data() } }
        let timers = Task {
            while !Task.isCancelled, observer.history.count < 3 { await timer.fire() }
        }
        await observer.wait(count: 3)
        timers.cancel()
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test func `a root that is not a certificate stops payments and names the file, without a crash`() async throws {
        let file = device.folder.appendingPathComponent("nonsense.der")
        try Data("nonsense".utf8).write(to: file)
        let error = #expect(throws: DeviceError.self) {
            try ReceiptCheck(
                roots: [file], bundleID: "a", bundleVersion: "1", vendorIdentifier: UUID(), environment: .sandbox)
        }
        #expect(error?.detail.contains("nonsense.der") == true)
    }

    @Test func `a paid purchase that waits for a receipt is reported once, without logging`() async throws {
        let said = LockedList<String>()
        let environment = [
            "CORNERSTORE_STORE": "http://127.0.0.1:1", "CORNERSTORE_BUNDLE_ID": TestDevice.bundleID,
            "CORNERSTORE_DEVICE": device.folder.path, "CORNERSTORE_SHEET": "approve",
        ]
        var configuration = StoreKitConfiguration(environment: environment, executable: nil) { said.append($0) }
        configuration.sheet = device.configuration().sheet
        configuration.roots = roots
        // The watch would have the timer fire as well, so that three times could pass before the first refusal.
        configuration.watchesStore = false
        configuration.callbackQueue = device.configuration().callbackQueue
        device.store.change { $0.makeReceipt = { _ in Data("not a receipt".utf8) } }
        let timer = ManualTimer()
        let engine = device.launch(configuration, timer: timer)
        let queue = SKPaymentQueue(engine: engine)
        let observer = GrantBook().observer()
        queue.add(observer)
        queue.add(payment())
        for _ in 0..<3 { await timer.fire() }
        #expect(said.all.count { $0.contains("was refused") } == 1)
        await engine.stop()
    }
}
