import Foundation
import StoreKit
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct CustomerCommandTests {
    private static let email = "tester@sandbox.example"

    @Test func errorsAreOrderedByName() async throws {
        try await RunningStore.with { store in
            let ordered = try await store.run("fault order purchases paymentNotAllowed --count 2 --json").output
                .objects()
            #expect(ordered.map { $0["error"] as? String } == ["paymentNotAllowed"])
            #expect(ordered[0]["status"] == nil && ordered[0]["count"] as? Int == 2)
            #expect(await store.run("fault order products SSServerErrorDomain/5002").status == 0)
            let list = await store.run("fault").output
            #expect(list.contains("paymentNotAllowed") && list.contains("SSServerErrorDomain/5002"))
            #expect(await store.run("fault order purchases SSServerErrorDomain/7").status == 2)
        }
    }

    @Test func anAccountsSimulatedConditionsAreSetAndShown() async throws {
        try await RunningStore.with { store in
            let changed = try await store.run("account change \(Self.email) --interrupts on --json").output.object()
            #expect(changed["interruptsPurchases"] as? Bool == true)
            let promoted = await store.run("promote com.example.app.pro --account \(Self.email)")
            #expect(promoted.status == 0 && promoted.output.hasPrefix("Promoted."))
            #expect(await store.run("promote com.example.app.none --account \(Self.email)").status == 1)
            #expect(await store.run("promote com.example.app.pro --account nobody@example.com").status == 1)
            let code = try await store.run("code add com.example.app.pro --json").output.object()
            #expect(code["productId"] as? String == "com.example.app.pro" && code["transactionId"] == nil)
            let shown = try #require(code["code"] as? String)
            let codes = await store.run("code").output
            #expect(codes.contains(shown) && codes.contains("not redeemed"))
            #expect(await store.run("price-increase --account \(Self.email)").output == "No price increases.\n")
            // It is no subscription.
            #expect(
                await store.run("price-increase add com.example.app.pro 9.99 --account \(Self.email)").status == 1)
            #expect(
                await store.run("price-increase add com.example.app.pro much --account \(Self.email)").status == 2)
            #expect(await store.run("transaction refund 2000000000000001").status == 1)
            #expect(await store.run("transaction refund 2000000000000001 --reason whim").status == 2)
            #expect(await store.run("purchase resolve 8C5B3A5E-0000-0000-0000-000000000000").status == 1)
        }
    }

    @Test func aDeviceIsRestricted() async throws {
        try await RunningStore.with { store in
            let off = try await store.run("device payments off --json").output.object()
            let folder = try #require(off["device"] as? String)
            #expect(off["allowsPayments"] as? Bool == false && folder.hasPrefix(store.data))
            #expect(!DeviceRestrictions(deviceFolder: URL(fileURLWithPath: folder)).allowsPayments)
            #expect(await store.run("device payments on").output.hasPrefix("Purchases are allowed on "))
            #expect(DeviceRestrictions(deviceFolder: URL(fileURLWithPath: folder)).allowsPayments)
            let other = store.directory.path("phone")
            // What is no device does not become one.
            let missing = await store.run("device payments off --device", other)
            #expect(missing.status == 1 && missing.errors.contains("There is no device in \(other)"))
            #expect(!FileManager.default.fileExists(atPath: other))
            try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
            #expect(await store.run("device payments off --device", other).status == 1)
            try Data("5F1D2C3B-0A99-4E88-9D77-665544332211\n".utf8).write(
                to: URL(fileURLWithPath: other).appendingPathComponent("device-id"))
            #expect(await store.run("device payments off --device", other).status == 0)
            #expect(!DeviceRestrictions(deviceFolder: URL(fileURLWithPath: other)).allowsPayments)
            #expect(await store.run("device payments maybe").status == 2)
            #expect(await store.run("device payments off --device /dev/null/phone").status == 1)
        }
    }

    @Test(arguments: [
        "device", "device payments", "promote", "code", "code add", "price-increase", "price-increase add",
        "transaction refund", "purchase resolve", "review", "review list", "review show", "review answer",
        "review hide",
        "review unhide",
    ])
    func helpIsOnStandardOutput(_ line: String) async {
        let result = await Capture.run(line.split(separator: " ").map(String.init) + ["--help"])
        #expect(result.status == 0 && !result.output.isEmpty && result.errors.isEmpty)
    }

    @Test(arguments: [
        "device", "promote", "code", "price-increase", "transaction refund", "review list", "review show",
        "review answer", "review hide", "review unhide",
    ])
    func helpHasExamples(_ command: String) async {
        let result = await Capture.run(command.split(separator: " ").map(String.init) + ["--help"])
        #expect(result.output.contains("  cornerstore \(command)"))
    }
}
