import ControlWire
import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Store
import Synchronization

/// The places for streams of events. A stream gives its place back when its answer is dropped, written or not.
final class EventPlaces: Sendable {
    /// The most streams at once.
    static let most = 64

    /// A stream's place.
    final class Place: Sendable {
        private let places: EventPlaces

        fileprivate init(_ places: EventPlaces) { self.places = places }

        deinit { places.taken.withLock { $0 -= 1 } }
    }

    fileprivate let taken = Mutex(0)

    /// Takes a place; nil when there is none.
    func take() -> Place? {
        let hasRoom = taken.withLock { taken in
            guard taken < Self.most else { return false }
            taken += 1
            return true
        }
        return hasRoom ? Place(self) : nil
    }
}

/// Streams the topics that change, as server-sent events. An event says only *that* a topic changed; the client asks
/// for what it shows.
struct EventController: Sendable {
    let changes: Changes
    let places: EventPlaces
    /// The longest silence: a comment keeps the connection open and finds clients that have left.
    static let silence = Duration.seconds(15)

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.events) { _, context in
            guard let place = places.take() else {
                throw HTTPProblem(
                    .serviceUnavailable, code: "unavailable",
                    message: "\(EventPlaces.most) streams of events are open already. Close one.")
            }
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: ResponseBody { writer in try await follow(place, context, &writer) })
        }
    }

    private func follow(
        _ place: EventPlaces.Place, _ context: StoreRequestContext, _ writer: inout any ResponseBodyWriter
    ) async throws {
        defer { withExtendedLifetime(place) {} }
        var last = changes.snapshot
        try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
        while let now = await next(since: last, context) {
            let topics = now.changed(since: last).map(\.name)
            last = now
            let text =
                topics.isEmpty
                ? ": still here\n\n"
                : "event: changed\ndata: \(String(decoding: try JSONEncoder.compact.encode(ControlAPI.Changed(topics: topics)), as: UTF8.self))\n\n"
            try await writer.write(ByteBuffer(string: text))
        }
        try await writer.finish(nil)
    }

    /// The next state; nil when the server stops or the client has left.
    private func next(since last: Changes.Snapshot, _ context: StoreRequestContext) async -> Changes.Snapshot? {
        let changes = changes
        return try? await context.whileClientStays {
            try await cancelWhenGracefulShutdown { try await changes.wait(since: last, upTo: Self.silence) }
        }
    }
}
