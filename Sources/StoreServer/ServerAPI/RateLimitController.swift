import ControlWire
import Foundation
import HTTPSupport
import Hummingbird
import Store
import StoreWire

/// Serves the operator of the rate limits of the App Store Server API.
struct RateLimitController: Sendable {
    let stores: [StoreEnvironment: Store]

    private static let largestBody = 4 << 10

    private typealias Handler = @Sendable (Store, Request, StoreRequestContext) async throws -> Response

    func addRoutes(to router: Router<StoreRequestContext>) {
        on(router, .list(.sandbox)) { store, _, _ in
            try .json(
                store.rateLimitsOfApps.sorted { $0.key < $1.key }.map { ControlAPI.RateLimits($0.key, $0.value) })
        }
        on(router, .set(.sandbox, bundle: "")) { store, request, context in
            let bundleID = Self.bundleID(context)
            let change = try await request.decodeJSON(ControlAPI.RateLimitChange.self, upTo: Self.largestBody)
            let before = store.rateLimitsOfApps[bundleID]
            let after = try await store.setRateLimits(
                try Self.limits(change, in: store.environment), of: bundleID)
            context.note?.say(before: before.map(Self.words), after: Self.words(after))
            return try .json(ControlAPI.RateLimits(bundleID, after))
        }
        on(router, .remove(.sandbox, bundle: "")) { store, _, context in
            let bundleID = Self.bundleID(context)
            let before = store.rateLimitsOfApps[bundleID]
            try await store.removeRateLimits(of: bundleID)
            context.note?.say(before: before.map(Self.words))
            return Response(status: .noContent)
        }
    }

    private func on(_ router: Router<StoreRequestContext>, _ route: RateLimitRoute, _ handler: @escaping Handler) {
        router.on(.rateLimits(route), of: stores, use: handler)
    }

    private static func bundleID(_ context: StoreRequestContext) -> BundleID {
        BundleID(context.parameter(.bundle)?.removingPercentEncoding ?? "")
    }

    private static func limits(
        _ change: ControlAPI.RateLimitChange, in environment: StoreEnvironment
    ) throws -> [RateClass: Int64] {
        var limits: [RateClass: Int64] = [:]
        if change.apple == true {
            for rateClass in RateClass.allCases { limits[rateClass] = rateClass.applesLimit(in: environment) }
        }
        for (name, limit) in change.requestsPerHour ?? [:] {
            guard let rateClass = RateClass(rawValue: name) else {
                let known = RateClass.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreError(.invalidRequest, "The classes of “requestsPerHour” are \(known).")
            }
            limits[rateClass] = Int64(limit)
        }
        return limits
    }

    private static func words(_ limits: [RateClass: Int64]) -> String {
        RateClass.allCases.compactMap { rateClass in limits[rateClass].map { "\(rateClass.rawValue) \($0)" } }
            .joined(separator: ", ")
    }
}

extension ControlAPI.RateLimits {
    init(_ bundleID: BundleID, _ limits: [RateClass: Int64]) {
        self.init(
            bundleId: bundleID.rawValue,
            requestsPerHour: Dictionary(
                limits.map { ($0.key.rawValue, Int($0.value)) }, uniquingKeysWith: { first, _ in first }))
    }
}
