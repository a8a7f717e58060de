import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct ContentCommandTests {
    private static let product = "com.example.app.pro"

    private func package(_ store: RunningStore, _ version: String) throws -> String {
        let path = store.directory.path("pro-\(version).pkg")
        try Data(try SampleContent.package(Self.product, version)).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test func aVersionIsUploadedApprovedSoldAndRemoved() async throws {
        try await RunningStore.with { store in
            #expect(await store.run("content status").output.hasPrefix("No hosted content."))
            #expect(await store.run("content host com.example.app.coins").status == 1)
            let first = try package(store, "1.0")
            #expect(await store.run("content upload", first).status == 1)
            #expect(await store.run("content host \(Self.product)").output.hasPrefix("Hosting is on"))
            #expect(await store.run("content submit \(Self.product)").status == 1)
            let uploaded = try await store.run("content upload --json", first).output.object()
            #expect(uploaded["state"] as? String == "READY_TO_SUBMIT" && uploaded["version"] as? String == "1.0")
            #expect(await store.run("content upload", first).status == 0)
            #expect(await store.run("content submit \(Self.product)").output.contains("Waiting for Review"))
            #expect(await store.run("content review \(Self.product)").output.contains("In Review"))
            let approved = try await store.run("content approve \(Self.product) --json").output.object()
            #expect(approved["state"] as? String == "APPROVED")
            #expect(await store.run("content approve \(Self.product)").errors.contains("Approved"))

            #expect(await store.run("content upload", try package(store, "1.1")).output.contains("Ready to Submit"))
            #expect(await store.run("content rule automatic --product \(Self.product)").status == 0)
            #expect(await store.run("content rule sometimes --product \(Self.product)").status == 2)
            #expect(await store.run("content rule manual").status == 2)
            let status = await store.run("content status \(Self.product)").output
            #expect(status.contains("production 1.0, sandbox 1.1") && status.contains("review automatic"))
            #expect(await store.run("content submit \(Self.product) 1.1").output.contains("Approved"))
            #expect(await store.run("content remove \(Self.product) 1.1").output.contains("Removed from Sale"))
            #expect(await store.run("content remove \(Self.product) 7").status == 1)
            #expect(await store.run("content host --off \(Self.product)").status == 1)
            let list = try await store.run("content status --json").output.objects()
            #expect(list.map { $0["productionVersion"] as? String } == ["1.0"])
        }
    }

    @Test func aRejectionHasAReasonAndAnUploadPrintsItsProgress() async throws {
        try await RunningStore.with { store in
            // Before anything is downloaded.
            let early = await store.run("download \(Self.product) --out /nonexistent/copy")
            #expect(early.status == 1 && early.errors.contains("the folder /nonexistent does not exist"))
            _ = await store.run("content host \(Self.product)")
            let uploaded = await store.run("content upload", try package(store, "1.0"))
            #expect(uploaded.errors.contains("Uploading: 100 %"))
            _ = await store.run("content submit \(Self.product)")
            #expect(await store.run("content reject \(Self.product)").status == 2)
            let rejected = await Capture.run(
                ["content", "reject", Self.product, "--reason", "Blank pages."],
                environment: ["CORNERSTORE_DATA": store.data])
            #expect(rejected.output.contains("Rejected"))
            #expect(await store.run("content status").output.contains("Rejected: Blank pages."))
        }
    }

    @Test(arguments: ["host", "upload", "status", "submit", "review", "approve", "reject", "remove", "rule"])
    func helpHasExamples(_ command: String) async {
        let result = await Capture.run(["content", command, "--help"])
        #expect(result.status == 0 && result.errors.isEmpty)
        #expect(result.output.contains("  cornerstore content \(command)"))
    }
}
