import CornerstoreEncoding
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct CampaignTests {
    private static let day: Int64 = 86_400_000

    @Test(arguments: Backend.available) func viewsAreCountedByDayAndCampaign(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let campaigns = Campaigns(StoreDatabases(apps: apps, sandbox: database, production: database))
            let spring = try #require(Campaign("11l", "spring", ""))
            let autumn = try #require(Campaign("", "autumn", "7"))
            for (campaign, item, time) in [
                (spring, 1, 0), (spring, 1, Self.day - 1), (autumn, 1, 5), (spring, 1, Self.day), (autumn, 2, 0),
            ] as [(Campaign, Int64, Int64)] {
                try await campaigns.count(campaign, of: item, at: time)
            }
            #expect(
                try await campaigns.views(of: 1) == [
                    CampaignViews(day: 1, campaign: spring, views: 1),
                    CampaignViews(day: 0, campaign: spring, views: 2),
                    CampaignViews(day: 0, campaign: autumn, views: 1),
                ])
            #expect(try await campaigns.views(of: 3).isEmpty)
            // Day 400 ends day 0 of this item alone.
            try await campaigns.count(spring, of: 1, at: Campaigns.days * Self.day)
            #expect(try await campaigns.views(of: 1).map(\.day) == [Campaigns.days, 1])
            #expect(try await campaigns.views(of: 2).map(\.day) == [0])
        }
    }

    @Test(arguments: Backend.available) func aFloodOfCampaignsIsOneRow(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let campaigns = Campaigns(StoreDatabases(apps: apps, sandbox: database, production: database))
            for number in 0..<(Campaigns.mostOfDay + 5) {
                try await campaigns.count(try #require(Campaign("", "c\(number)", "")), of: 1, at: 0)
            }
            let views = try await campaigns.views(of: 1)
            #expect(views.count == Campaigns.mostOfDay + 1)
            #expect(views.first == CampaignViews(day: 0, campaign: nil, views: 5))
            try await campaigns.count(try #require(Campaign("", "c0", "")), of: 1, at: 0)
            #expect(try await campaigns.views(of: 1).contains { $0.campaign?.campaign == "c0" && $0.views == 2 })
        }
    }

    @Test(
        arguments: [
            (VisitCampaign(), nil), (VisitCampaign(affiliate: "", campaign: ""), nil),
            (VisitCampaign(affiliate: "11l", campaign: "spring"), "11l|spring|"),
            (VisitCampaign(provider: "7"), "||7"), (VisitCampaign(campaign: String(repeating: "x", count: 41)), nil),
            (VisitCampaign(affiliate: "11l", campaign: "a\u{0}b"), nil),
        ] as [(VisitCampaign, String?)])
    func theCampaignOfAnAppsPageIsRead(_ visit: VisitCampaign, _ expected: String?) {
        #expect(Campaign(visit).map { "\($0.affiliate)|\($0.campaign)|\($0.provider)" } == expected)
    }

    @Test(arguments: [
        ("", nil), ("mt=8", nil), ("at=&ct=&pt=", nil), ("ct=a%00b", nil),
        ("ct=" + String(repeating: "x", count: 41), nil),
        ("ct=a+b&at=1", "1|a b|"), ("pt=7&x=1", "||7"),
    ])
    func parametersAreRead(_ query: String, _ expected: String?) {
        let campaign = Campaign(QueryParameters(query: query))
        #expect(campaign.map { "\($0.affiliate)|\($0.campaign)|\($0.provider)" } == expected)
    }
}
