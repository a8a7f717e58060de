import StoreWire
import TestSupport
import Testing

@testable import Store
@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct RenewalPolicyServerTests {
    @Test func eachStoreRenewsAsItsConfigurationSays() async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await RunningServer.with(directory.url) {
                $0.productionRenewals.lead = 7
                $0.sandboxRenewals.retryDays = [3]
            } _: { server in
                let (production, sandbox) = (server.application.production.policy, server.application.sandbox.policy)
                #expect(production.lead == 7 && production.retryDays == RenewalPolicy.usualRetryDays)
                #expect(sandbox.lead == 0 && sandbox.retryDays == [3] && sandbox.mostRenewals == 12)
            }
        }
    }
}
