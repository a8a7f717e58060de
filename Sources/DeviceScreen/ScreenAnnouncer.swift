import ControlWire
import CornerstoreEncoding
import CornerstoreHTTPClient
import Foundation

/// Tells the store's operator about a screen while it runs, so that the console lists it. It works without one.
struct ScreenAnnouncer: Sendable {
    /// How often it tells, and for how long it is then listed, in seconds.
    private static let (pause, lifetime) = (10, 30)

    let control: URL?
    let adminToken: String?
    /// Describes the screen, each time anew: an app may learn its name after it has started.
    let screen: @MainActor @Sendable () -> ControlAPI.Screen

    /// Tells until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await tell(seconds: Self.lifetime)
            try? await Task.sleep(for: .seconds(Self.pause))
        }
    }

    /// Says that the screen is no longer there.
    func end() async { await tell(seconds: 0) }

    /// Tells once.
    /// - Parameter seconds: for how long the screen is listed; 0 removes it from the list.
    func tell(seconds: Int) async {
        guard let control else { return }
        let announcement = ControlAPI.ScreenAnnouncement(screen: await screen(), seconds: seconds)
        guard let body = try? JSONEncoder.compact.encode(announcement) else { return }
        var base = control.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        let route = ControlRoute.announceScreen
        var request = HTTPRequest(
            route.method.rawValue, base + route.path,
            limits: HTTPLimits(connect: .seconds(2), silence: .seconds(5), whole: .seconds(5)))
        if let adminToken { request.add("Authorization", "Bearer \(adminToken)") }
        request.add("Content-Type", "application/json")
        request.body = body
        // A store that does not run has no list.
        guard let response = try? await HTTPClient.shared.send(request) else { return }
        _ = try? await response.collect(upTo: 1 << 16)
    }
}
