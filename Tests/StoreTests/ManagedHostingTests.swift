import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Hosted content of managed products", .timeLimit(.minutes(1))) struct ManagedHostingTests {
    private static let bundleID = ManagedScene.bundleID

    /// Writes the row of a version, as after its upload.
    @discardableResult
    private static func insert(
        _ version: String, _ state: ContentState, of productID: ProductID, _ scene: ManagedScene
    ) async throws -> UUID {
        let (versionID, now) = (UUID(), scene.clock.milliseconds)
        try await scene.managed.database.write { connection in
            _ = try connection.execute(
                """
                INSERT INTO content_versions (\(HostedVersion.columns), version_key)
                VALUES ($1, $2, $3, $4, $5, 1, 1, $6, $7, NULL, $4)
                """,
                [
                    versionID.uuidString, bundleID.rawValue, productID.rawValue, version, state.rawValue,
                    String(repeating: "0", count: 64), now,
                ])
        }
        return versionID
    }

    /// The versions of a product's content, newest first, with their states.
    private static func states(of productID: ProductID, _ scene: ManagedScene) async throws -> [String] {
        let product = ContentProduct(productID, of: bundleID)
        return try await scene.managed.database.read { try HostedVersion.all(of: product, $0) }
            .map { "\($0.version.text) \($0.state.rawValue)" }
    }

    private static func createHosted(_ productID: ProductID, _ scene: ManagedScene) async throws {
        try await scene.create(productID, .nonConsumable)
        try await scene.change(productID, ["hosted": .bool(true)])
    }

    @Test(arguments: Backend.available)
    func aHostedProductGoesLiveWithContent(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            try await scene.register()
            try await scene.review(.manual)
            try await Self.createHosted("hats", scene)
            try await Self.insert("1.0", .readyToSubmit, of: "hats", scene)
            try await Self.insert("2.0", .removed, of: "hats", scene)
            // The newest version was removed, so the one before is submitted.
            try await scene.submit("hats")
            // A version that is uploaded during the review is not part of it.
            try await Self.insert("3.0", .readyToSubmit, of: "hats", scene)
            #expect(try await scene.take(.approve, "hats").state == .approved)
            #expect(
                try await Self.states(of: "hats", scene) == [
                    "3.0 READY_TO_SUBMIT", "2.0 DEVELOPER_REMOVED_FROM_SALE", "1.0 APPROVED",
                ])

            // The content is removed during the review.
            try await Self.createHosted("scarf", scene)
            let only = try await Self.insert("1.0", .readyToSubmit, of: "scarf", scene)
            try await scene.submit("scarf")
            let now = scene.clock.milliseconds
            try await scene.managed.database.write {
                _ = try ContentLibrary.take(.remove, with: only, reason: nil, at: now, $0)
            }
            #expect(try await refusal { try await scene.take(.approve, "scarf") } == .wrongState)
            #expect(try await scene.take(.reject(reason: "It has no content."), "scarf").state == .rejected)

            // The content waits for a review of its own, and the product's review is automatic.
            try await scene.review(.automatic)
            try await Self.createHosted("gloves", scene)
            try await Self.insert("1.0", .waitingForReview, of: "gloves", scene)
            #expect(try await refusal { try await scene.submit("gloves") } == .wrongState)
            #expect(try await scene.sold("hats", "scarf", "gloves", in: .production) == ["hats"])
        }
    }

    @Test(arguments: Backend.available)
    func anImportHostsNoProductThatWasSoldWithoutContent(_ backend: Backend) async throws {
        let files = try TestStore.catalog()
        try await backend.withManaged(files: files) { scene async throws in
            let account = try await scene.production.account("ape@example.com")
            try await scene.production.buy("hats", by: account)
            try scene.catalogs.replaceFiles(with: .empty)
            let file = """
                cornerstore-catalog: 1
                apps:
                  - bundleID: \(TestStore.bundleID)
                    products:
                      - {productID: hats, type: NonConsumable, displayPrice: 0.99, hosted: true}
                """
            func take(_ text: String) async throws -> ManagedCatalog.Import {
                try await scene.managed.importFile(text, isYAML: true, bundleID: nil, isApproved: false, by: "anna")
            }
            let error = await #expect(throws: StoreError.self) { try await take(file) }
            #expect(error?.code == .wrongState && error?.detail.hasPrefix("hats has been sold.") == true)
            #expect(!scene.managed.manages(TestStore.bundleID))
            let taken = try await take(file.replacing(", hosted: true", with: ""))
            #expect(taken.created == ["hats"])
            // Nor as a change of the product.
            #expect(try await refusal { try await take(file) } == .wrongState)
        }
    }

    @Test(arguments: Backend.available)
    func hostingIsChangedByWhoeverAsksAndTheLaterEditorIsTold(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let scene = try await ManagedScene.open(database, apps: apps)
            try await scene.register()
            try await scene.create("hats", .nonConsumable)
            let hats = ContentProduct("hats", of: Self.bundleID)
            try await scene.managed.setHosting(true, of: hats, by: "olga")
            let last = try await scene.managed.history(of: Self.bundleID, "hats", before: nil, limit: 1)
            #expect(last.map(\.author) == ["olga"])
            // Another process changes the product, and this one has not heard of it.
            let other = try await ManagedScene.open(database, apps: apps)
            try await other.change("hats", ["displayPrice": .string("2.00")])
            #expect(
                try await refusal { try await scene.managed.setHosting(false, of: hats, by: "olga") } == .staleRevision)
        }
    }
}
