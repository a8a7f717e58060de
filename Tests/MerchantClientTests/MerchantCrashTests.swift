import Foundation
import MerchantWire
import Synchronization
import TestSupport
import Testing

@testable import MerchantClient

@Suite("A crash at each step of a redemption", .timeLimit(.minutes(1)))
struct MerchantCrashTests {
    struct Crash: Error {}

    @Test(arguments: RedemptionStep.allCases, [MerchantClientConfiguration.Finishing.afterDelivery, .afterRedemption])
    func `the next launch completes a begun redemption once`(
        step: RedemptionStep, finishing: MerchantClientConfiguration.Finishing
    ) async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            let crashed = EventLog()
            let client = try await device.launch(EventLog()) { configuration in
                configuration.finishing = finishing
                configuration.onStep = {
                    guard $0 == step else { return }
                    crashed.note("crash")
                    throw Crash()
                }
            }
            await client.begin(device.buy("1"))
            await crashed.told("crash")
            await client.close()

            // Each crash leaves something to do: in StoreKit's queue, in the journal, or in both.
            let isQueued = !device.change { $0.queue.isEmpty }
            let next = try await device.launch(log) { $0.finishing = finishing }
            await log.told("delivered one 1")
            if isQueued { await log.told("finished 1") }
            #expect(device.finished == ["1"])
            #expect(merchant.change { $0.grants } == ["1": 1])
            await next.close()

            let third = try await device.launch(log)
            #expect(await third.isBusy == false)
            await third.close()
            let journal = device.folder.appendingPathComponent("client/redemptions").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: journal) == [])
        }
    }

    @Test func `a begun redemption completes before StoreKit delivers its transaction`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1")
            let told = EventLog()
            let client = try await device.launch(EventLog()) { configuration in
                configuration.onStep = {
                    guard $0 == .ask else { return }
                    told.note("crash")
                    throw Crash()
                }
            }
            await client.begin(device.buy("1"))
            await told.told("crash")
            await client.close()

            let next = try MerchantClient(device.configuration(log))
            await next.open()
            await log.told("delivered one 1")
            #expect(device.finished.isEmpty)
            // StoreKit has no receipt any more. The redemption does not need it.
            var purchase = device.purchase("1")
            purchase.receipt = nil
            await next.begin(purchase)
            await log.told("finished 1")
            #expect(merchant.count(.redemptions) == 1)
            await next.close()
        }
    }

    @Test func `the number of attempts survives launches`() async throws {
        try await withMerchant { merchant, device, log in
            merchant.sell("1", "gems")
            merchant.trouble(.redemptions, .status(503), .status(503), .status(503))
            // Launches end while they wait.
            for launch in 1...3 {
                let client = try await device.launch(log) { configuration in
                    configuration.wait = { seconds in
                        device.change { $0.delays.append(seconds) }
                        throw Crash()
                    }
                }
                if launch == 1 { await client.begin(device.buy("1")) }
                await log.told("waiting 1 unreachable \(Double(1 << (launch - 1)))")
                await client.close()
            }
            let client = try await device.launch(log)
            await log.told("finished 1")
            await client.close()
        }
    }
}
