import Foundation
import ServiceLifecycle
import TestSupport
import Testing

@testable import StoreServer

@Suite("The stop of a server behind a load balancer", .timeLimit(.minutes(1))) struct DrainTests {
    @Test func aStopIsToldBeforeThePortsClose() async throws {
        try await TemporaryDirectory.with { directory async throws in
            // The end of the test stops the server at once.
            try await RunningServer.with(
                directory.url, signals: [.sigusr1], { $0.drainDelay = .seconds(600) }
            ) { server async throws in
                let path = server.addresses.sandbox + "/ready"
                #expect(try await server.send("GET", path).status == 200)
                kill(getpid(), SIGUSR1)
                var ready = try await server.send("GET", path)
                let end = ContinuousClock.now + .seconds(30)
                while ready.status == 200, ContinuousClock.now < end { ready = try await server.send("GET", path) }
                #expect(ready.status == 503 && ready.text == #"{"reason":"stopping","status":"not ready"}"#)
                for address in [
                    server.addresses.control, server.addresses.production, server.addresses.storefront,
                ] {
                    #expect(try await server.send("GET", address + "/ready").text.contains("stopping"))
                }
                // Customers are still served.
                let token = try await server.signIn().token
                let bought = try await server.device(.purchases, token: token, body: server.purchase("credits5"))
                #expect(bought.status == 200, "\(bought.text)")
            }
        }
    }

    @Test(arguments: [true, false])
    func onlyAProcessThatCanAnswerWaits(_ isLost: Bool) async throws {
        var isCurrent: (@Sendable () -> Bool)?
        if isLost { isCurrent = { false } }
        let health = StoreHealth(check: {}, process: nil, hasStandby: nil, logger: .quiet)
        #expect(await health.problem() == nil)
        let delay = isLost ? Duration.seconds(600) : .zero
        let group = ServiceGroup(
            services: [ReadinessEnd(health: health, delay: delay, isCurrent: isCurrent)],
            logger: .quiet)
        await group.triggerGracefulShutdown()
        try await group.run()
        #expect(await health.problem() == .stopping)
    }
}
