import Foundation
import StoreWire
import Testing

@testable import StoreKit

@Suite("Promotions on this device", .timeLimit(.minutes(1)))
struct PromotionTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private func product(_ identifier: String) -> SKProduct {
        SKProduct(
            ProductDescription(
                productID: ProductID(identifier), kind: .consumable, displayName: "", description: "",
                price: FakeStore.price, priceLocale: "en_US", isFamilyShareable: false, subscription: nil))
    }

    private static let five = "com.example.monkeys.credits5"
    private static let ten = "com.example.monkeys.credits10"

    @Test func `visibility and order outlive the process`() async throws {
        var engine = device.launch()
        var controller = SKProductStorePromotionController(engine: engine)
        let (five, ten) = (product(Self.five), product(Self.ten))
        #expect(try await controller.promotionVisibility(for: five) == .default)
        #expect(try await controller.promotionOrder().isEmpty)
        try await controller.update(promotionVisibility: .hide, for: five)
        try await controller.update(promotionVisibility: .show, for: ten)
        try await controller.update(promotionOrder: [ten, five, ten])
        await engine.stop()

        engine = device.launch()
        controller = SKProductStorePromotionController(engine: engine)
        #expect(try await controller.promotionVisibility(for: five) == .hide)
        #expect(try await controller.promotionVisibility(for: ten) == .show)
        #expect(try await controller.promotionOrder().map(\.productIdentifier) == [Self.ten, Self.five])
        try await controller.update(promotionVisibility: .default, for: five)
        try await controller.update(promotionOrder: [])
        #expect(try await controller.promotionVisibility(for: five) == .default)
        #expect(try await controller.promotionOrder().isEmpty)
        await engine.stop()
    }

    @Test func `a product that is no longer sold leaves the order, and an unavailable store is an error`() async throws
    {
        let engine = device.launch()
        let controller = SKProductStorePromotionController(engine: engine)
        try await controller.update(promotionOrder: [product("gone"), product(Self.five)])
        #expect(try await controller.promotionOrder().map(\.productIdentifier) == [Self.five])
        device.store.change { $0.isDown = true }
        await #expect(throws: SKError.self) { _ = try await controller.promotionOrder() }
        // Visibility is the device's own.
        #expect(try await controller.promotionVisibility(for: product("gone")) == .default)
        await engine.stop()
    }

    @Test func `apps of a device do not share promotions`() async throws {
        let monkeys = device.launch()
        try await SKProductStorePromotionController(engine: monkeys).update(
            promotionVisibility: .hide, for: product("p"))
        var configuration = device.configuration()
        configuration.bundleIdentifier = "com.example.apes"
        let apes = device.launch(configuration)
        #expect(
            try await SKProductStorePromotionController(engine: apes).promotionVisibility(for: product("p")) == .default
        )
        await monkeys.stop()
        await apes.stop()
    }

    @Test func `a change that cannot be saved is an error and changes nothing`() async throws {
        let engine = device.launch()
        let controller = SKProductStorePromotionController(engine: engine)
        try await controller.update(promotionOrder: [product(Self.five)])
        await #expect(throws: SKError.self) { try await controller.update(promotionOrder: [SKProduct()]) }
        await #expect(throws: SKError.self) {
            try await controller.update(
                promotionVisibility: .hide, for: product(String(repeating: "x", count: 256)))
        }
        let many = (0...PromotionOverrides.most).map { product("p\($0)") }
        await #expect(throws: SKError.self) { try await controller.update(promotionOrder: many) }
        #expect(engine.pages.promotions.value.order == [ProductID(Self.five)])
        await engine.stop()

        var configuration = device.configuration()
        configuration.bundleIdentifier = nil
        let nobody = SKProductStorePromotionController(engine: device.launch(configuration))
        await #expect(throws: SKError.self) { try await nobody.update(promotionOrder: []) }
    }

    @Test func `a damaged file counts as empty, and the next change repairs it`() async throws {
        var engine = device.launch()
        try await SKProductStorePromotionController(engine: engine).update(
            promotionVisibility: .hide, for: product(Self.five))
        await engine.stop()
        let file = try DeviceFolder(device.folder).bundleFolder(of: BundleID(TestDevice.bundleID))
            .appendingPathComponent("promotions.json")
        try Data("{".utf8).write(to: file)
        engine = device.launch()
        let controller = SKProductStorePromotionController(engine: engine)
        #expect(try await controller.promotionVisibility(for: product(Self.five)) == .default)
        try await controller.update(promotionVisibility: .show, for: product(Self.five))
        #expect(try await controller.promotionVisibility(for: product(Self.five)) == .show)
        await engine.stop()
    }

    @Test func `concurrent changes all count`() async throws {
        let engine = device.launch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await SKProductStorePromotionController(engine: engine).update(
                        promotionVisibility: .hide, for: product("p\(number)"))
                }
            }
            try await group.waitForAll()
        }
        let kept = engine.pages.promotions.value
        #expect((0..<40).allSatisfy { kept.visibility(of: ProductID("p\($0)")) == .hide })
        await engine.stop()
    }
}

@Suite("The missing music library", .timeLimit(.minutes(1)))
struct CloudServiceTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    @Test func `the storefront is available, and music is denied`() async throws {
        let controller = SKCloudServiceController(engine: device.launch())
        #expect(try await controller.requestStorefrontIdentifier() == "143441")
        #expect(try await controller.requestStorefrontCountryCode() == "USA")
        #expect(SKCloudServiceController.authorizationStatus() == .restricted)
        for denied in [
            { _ = try await controller.requestCapabilities() },
            { _ = try await controller.requestUserToken(forDeveloperToken: "t") },
            { _ = try await controller.requestPersonalizationToken(forClientToken: "t") },
        ] as [@Sendable () async throws -> Void] {
            let error = await #expect(throws: SKError.self) { try await denied() }
            #expect(error?.code == .cloudServicePermissionDenied)
        }
        let told: (String?, Int) = await withCheckedContinuation { continuation in
            controller.requestUserToken(forDeveloperToken: "t") { token, error in
                continuation.resume(returning: (token, (error as? SKError)?.code.rawValue ?? -1))
            }
        }
        #expect(told.0 == nil && told.1 == 6)
    }

    @Test func `an unavailable store is a network error`() async {
        device.store.change { $0.isDown = true }
        let controller = SKCloudServiceController(engine: device.launch())
        let error = await #expect(throws: SKError.self) { _ = try await controller.requestStorefrontIdentifier() }
        #expect(error?.code == .cloudServiceNetworkConnectionFailed)
        let told: Int = await withCheckedContinuation { continuation in
            controller.requestStorefrontCountryCode { _, error in
                continuation.resume(returning: (error as? SKError)?.code.rawValue ?? -1)
            }
        }
        #expect(told == 7)
    }
}
