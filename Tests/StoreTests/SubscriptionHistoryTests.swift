import Database
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A tester's subscription in a real receipt of Apple's sandbox.
struct RealHistory: Sendable, CustomTestStringConvertible {
    /// The receipt among the fixtures.
    var receipt: String
    /// The tester's renewal rate, which the lengths of the periods show.
    var rate: RenewalRate
    /// The lengths of the products' periods, and whether they begin with a free week.
    var products: [(id: String, period: String, hasTrial: Bool)]

    var testDescription: String { receipt }

    static let all = [
        RealHistory(
            receipt: "ProductionSandbox__com.mbaasy.ios.demo__e5ef15", rate: .fiveMinutes,
            products: [("monthly", "P1M", false)]),
        RealHistory(
            receipt: "ProductionSandbox__com.revenuecat.sampleapp__d18b7c", rate: .fiveMinutes,
            products: [
                ("com.revenuecat.monthly_4.99.1_week_intro", "P1M", true),
                ("com.revenuecat.annual_39.99.2_week_intro", "P1Y", false),
            ]),
        RealHistory(
            receipt: "ProductionSandbox__dev.bonzer.weeka.app__bebb16", rate: .threeMinutes,
            products: [("dev.bonzer.weeka.app.subscription.pro.annual", "P1Y", false)]),
    ]

    /// A catalog with the products in one group.
    func catalog() throws -> Catalog {
        var text = """
            cornerstore-catalog: 1
            apps:
              - bundleID: com.example.monkeys
                subscriptionGroups:
                  - id: "21000001"
                    name: Real
                    subscriptions:

            """
        for product in products {
            text += """
                          - productID: \(product.id)
                            groupNumber: 1
                            recurringSubscriptionPeriod: \(product.period)
                            displayPrice: 4.99

                """
            if product.hasTrial {
                text += "            introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P1W }]\n"
            }
        }
        return try Catalog(apps: try CornerstoreCatalogFile.read(Array(text.utf8), file: "real.yaml").apps)
    }
}

/// Real histories are played again: from their purchases the store derives their periods and the order of their ids.
@Suite("Real histories of subscriptions", .timeLimit(.minutes(1))) struct SubscriptionHistoryTests {
    @Test(.enabled(if: Fixtures.directory != nil), arguments: Backend.available, RealHistory.all)
    func theStoreDerivesTheSamePeriods(_ backend: Backend, _ history: RealHistory) async throws {
        let text = try #require(try Fixtures.data("app-receipts/\(history.receipt).b64"))
        let bytes = try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters))
        let periods = try ReceiptContainer.parse(Array(bytes)).receipt.inApp.filter { $0.expiresDate != nil }
            .sorted { $0.purchaseDate < $1.purchaseDate }
        #expect(periods.count >= 2 && Set(periods.map(\.originalTransactionID)).count == 1)
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try history.catalog())
            let account = try await test.account()
            let tester = try await test.store.accounts.change(
                account.accountID, AccountChange(renewalRate: history.rate))
            for (index, period) in periods.enumerated() {
                let start = milliseconds(period.purchaseDate)
                let isRenewal = index > 0 && milliseconds(periods[index - 1].expiresDate) == start
                if !isRenewal {
                    // The tester's auto-renew had gone off, or the renewal came seconds late.
                    try await test.cancelSubscriptions(of: tester)
                    try await test.store.changeClock { try $0.set(to: start) }
                    try await test.buy(ProductID(period.productID), by: tester)
                }
                try await test.store.changeClock { try $0.set(to: start) }
            }
            let ledger = try await test.ledger()
            #expect(ledger.map(\.productID.rawValue) == periods.map(\.productID))
            #expect(ledger.map(\.purchaseDate) == periods.map { milliseconds($0.purchaseDate) })
            #expect(ledger.map { $0.expiresDate ?? 0 } == periods.map { milliseconds($0.expiresDate) })
            #expect(ledger.map { $0.offer == .trial } == periods.map { $0.isTrialPeriod ?? false })
            // The line items have the same order, and the first renewal has the next number.
            for lines in [ledger.compactMap(\.webOrderLineItemID), periods.compactMap(\.webOrderLineItemID)] {
                #expect(lines == lines.sorted() && lines.count == periods.count && lines[1] == lines[0] + 1)
            }
        }
    }

    private func milliseconds(_ date: Date?) -> Int64 { Int64((date?.timeIntervalSince1970 ?? 0) * 1000) }
}
