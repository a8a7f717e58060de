import Foundation
import MerchantClient
import StoreKit
import StoreReceipts
import StoreWire
import Testing

@testable import Magazine

@Suite("Magazine", .timeLimit(.minutes(1)))
struct MagazineTests {
    /// A day of 2027, a number of days after 1 January.
    private static func day(_ number: Int) -> Date {
        Date(timeIntervalSince1970: 1_798_761_600 + Double(number) * 86_400)
    }

    private func period(
        _ plan: Plan, from start: Int, to end: Int, isFree: Bool = false, refunded: Int? = nil, line: Int64 = 1
    ) -> InAppPurchase {
        InAppPurchase(
            quantity: 1, productID: plan.productIdentifier, transactionID: "\(start)",
            purchaseDate: Self.day(start), originalTransactionID: "1", originalPurchaseDate: Self.day(0),
            productType: 3, expiresDate: Self.day(end), itemID: 0, webOrderLineItemID: line,
            cancellationDate: refunded.map(Self.day), isTrialPeriod: isFree, isInIntroOfferPeriod: false,
            promotionalOfferID: nil, otherAttributes: [])
    }

    @Test func `arguments are parsed, and wrong ones are refused`() throws {
        #expect(try MagazineOptions(arguments: []).action == .ask)
        #expect(try MagazineOptions(arguments: ["--buy", "yearly"]).action == .buy(.yearly))
        #expect(try MagazineOptions(arguments: ["--buy", "com.example.magazine.premium"]).action == .buy(.premium))
        #expect(try MagazineOptions(arguments: ["--status", "-h"]).action == .help)
        for bad in [["--buy"], ["--buy", "weekly"], ["--list", "--status"], ["--what"], ["status"]] {
            #expect(throws: MagazineOptions.Misuse.self) { try MagazineOptions(arguments: bad) }
        }
    }

    @Test func `an empty variable names no token file, so the app goes without its server`() throws {
        let device = StoreKitConfiguration(
            store: nil, bundleIdentifier: "com.example.magazine", deviceFolder: URL(fileURLWithPath: "/nonexistent"),
            sheet: ProgrammedPaymentSheet(confirm: { _ in .cancel }, signIn: { _ in nil }))
        let client = try ReaderServer.client(
            ["CORNERSTORE_MERCHANT": "http://127.0.0.1:8410", "CORNERSTORE_USER_TOKEN_FILE": ""], device)
        #expect(client == nil)
    }

    @Test func `a receipt tells the plan and the end of its period`() {
        let week = period(.monthly, from: 0, to: 7, isFree: true)
        let month = period(.monthly, from: 7, to: 38)
        #expect(ReceiptStatus([], at: Self.day(1)) == nil)
        #expect(ReceiptStatus([week], at: Self.day(1))?.text == "Monthly, free until 2027-01-08")
        // The order in a receipt means nothing.
        let both = ReceiptStatus([month, week], at: Self.day(8))
        #expect(both?.text == "Monthly, paid until 2027-02-08" && both?.isActive == true)
        let over = ReceiptStatus([week, month], at: Self.day(38))
        #expect(over?.text == "Monthly, over since 2027-02-08" && over?.isActive == false)
    }

    @Test func `a receipt tells a refund, and an upgrade by the plan that begins before the end of another`() {
        let month = period(.monthly, from: 7, to: 38)
        let premium = period(.premium, from: 20, to: 51)
        let upgraded = ReceiptStatus([premium, month], at: Self.day(21))
        #expect(upgraded?.text == "Premium, instead of Monthly, paid until 2027-02-21")
        #expect(upgraded?.upgradedFrom == .monthly)
        let refunded = ReceiptStatus([month, period(.premium, from: 20, to: 51, refunded: 22)], at: Self.day(23))
        #expect(refunded?.text == "Premium, refunded on 2027-01-23" && refunded?.isActive == false)
        // A change that waited for the renewal is none.
        let yearly = ReceiptStatus([month, period(.yearly, from: 38, to: 403)], at: Self.day(40))
        #expect(yearly?.text == "Yearly, paid until 2028-02-08" && yearly?.upgradedFrom == nil)
        // Within one second, the higher line is the later one.
        let quick = [period(.premium, from: 7, to: 38, line: 3), period(.monthly, from: 7, to: 38, line: 2)]
        #expect(ReceiptStatus(quick, at: Self.day(8))?.plan == .premium)
    }

    private func entitlement(
        _ state: Entitlement.State, _ plan: Plan = .monthly, until: Int, grace: Int? = nil, renews: Bool? = nil,
        as next: Plan? = nil
    ) -> Entitlement {
        func milliseconds(_ day: Int) -> Int64 { Int64(Self.day(day).timeIntervalSince1970) * 1000 }
        return Entitlement(
            entitlement: "magazine", content: nil, productID: ProductID(plan.productIdentifier), state: state,
            expiresAt: milliseconds(until), graceUntil: grace.map(milliseconds), willRenew: renews,
            renewsAs: next.map { ProductID($0.productIdentifier) }, environment: .sandbox)
    }

    @Test func `the server also tells renewals and grace periods`() {
        func text(_ entitlements: Entitlement...) -> String? {
            ServerStatus(EntitlementList(entitlements: entitlements))?.text
        }
        #expect(text() == nil)
        #expect(text(entitlement(.active, until: 38)) == "Monthly, until 2027-02-08")
        #expect(
            text(entitlement(.active, until: 38, renews: true, as: .monthly))
                == "Monthly, until 2027-02-08, and renews")
        #expect(
            text(entitlement(.active, until: 38, renews: true, as: .yearly))
                == "Monthly, until 2027-02-08, and then Yearly")
        #expect(
            text(entitlement(.active, until: 38, renews: false))
                == "Monthly, until 2027-02-08, and does not renew")
        #expect(
            text(entitlement(.grace, until: 38, grace: 54))
                == "Monthly, not paid since 2027-02-08, and readable until 2027-02-24")
        #expect(text(entitlement(.expired, until: 38)) == "Monthly, over since 2027-02-08")
        #expect(text(entitlement(.revoked, .premium, until: 51)) == "Premium, refunded")
        // What may be used counts, and not what ends last.
        #expect(
            text(entitlement(.revoked, .yearly, until: 400), entitlement(.active, until: 38))
                == "Monthly, until 2027-02-08")
    }
}
