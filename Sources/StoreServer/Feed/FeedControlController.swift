import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Logging
import Store

/// Serves the operator of the partner feed: builds and lists feeds, adds and removes partners.
struct FeedControlController: Sendable {
    let desk: FeedDesk
    let partners: Partners
    let now: @Sendable () -> Date
    let logger: Logger
    /// The processes of the store, one of which may have the feeds; nil in the process that builds them.
    var processes: OtherProcess?

    private static let largestBody = 4 << 10

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.feeds) { _, _ in
            try processes?.checkFeeds(tellsAddress: true)
            return try .json(ControlAPI.Feeds(desk))
        }
        router.on(.buildFeed, use: build)
        router.on(.partners) { _, _ in
            try .json(
                try await partners.list().map {
                    ControlAPI.Partner(name: $0.name, createdDate: ControlAPI.text($0.createdAt))
                })
        }
        router.on(.addPartner) { request, _ in
            let new = try await request.decodeJSON(ControlAPI.NewPartner.self, upTo: Self.largestBody)
            let password = try await partners.add(
                new.name, at: Int64((now().timeIntervalSince1970 * 1000).rounded(.down)))
            return try .json(ControlAPI.PartnerPassword(name: new.name, password: password))
        }
        router.on(.removePartner(name: "")) { _, context in
            try await partners.remove(context.text(.name))
            return Response(status: .noContent)
        }
    }

    @Sendable private func build(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        try processes?.checkFeeds(tellsAddress: true)
        let order = try await request.decodeJSON(ControlAPI.FeedOrder.self, upTo: Self.largestBody)
        let mode = try order.mode.map { text in
            guard let mode = FeedMode(rawValue: text) else {
                throw StoreError(.invalidRequest, "“mode” must be full or incremental.")
            }
            return mode
        }
        let day = try order.day.map { text in
            guard let day = FeedDay(text), StoreClock.range.contains(day.milliseconds) else {
                throw StoreError(.invalidRequest, "“day” must be a date from 2001-01-01 to 2100-01-01.")
            }
            return day
        }
        let logger = logger
        try desk.start(mode, day: day) { FeedSchedule.log($0, logger) }
        return try .json(ControlAPI.Feeds(desk), status: .accepted)
    }
}

extension ControlAPI.Feeds {
    init(_ desk: FeedDesk) {
        // The state first: a feed that is complete by then is in the list.
        let state = desk.state
        self.init(
            feeds: desk.builds.map {
                ControlAPI.Feed(
                    mode: $0.mode.rawValue, day: String(ControlAPI.text($0.day.milliseconds).prefix(10)),
                    items: $0.items, archives: $0.archives, bytes: $0.bytes, pricesLeftOut: $0.pricesLeftOut)
            }, isBuilding: state.isBuilding, failure: state.failure)
    }
}
