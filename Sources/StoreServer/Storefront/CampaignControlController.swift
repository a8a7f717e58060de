import ControlWire
import CornerstoreEncoding
import HTTPSupport
import Hummingbird
import Store

/// Tells the operator how often campaigns led to items' pages.
struct CampaignControlController: Sendable {
    let campaigns: Campaigns

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.campaigns(item: 1)) { _, context in
            guard let item = context.parameter(.id).flatMap({ Int64($0) }), item > 0 else {
                throw StoreError(.invalidRequest, "The path must contain an item's number.")
            }
            return try Response.json(try await campaigns.views(of: item).map(ControlAPI.CampaignViews.init))
        }
    }
}

extension ControlAPI.CampaignViews {
    init(_ views: CampaignViews) {
        func text(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
        self.init(
            day: String(CivilTime(secondsSince1970: views.day * 86_400).description.prefix(10)),
            affiliate: text(views.campaign?.affiliate), campaign: text(views.campaign?.campaign),
            provider: text(views.campaign?.provider), isRest: views.campaign == nil, views: views.views)
    }
}
