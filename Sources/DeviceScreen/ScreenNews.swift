import ControlWire
import CornerstoreHTTPClient
import Foundation

/// Follows what changes in the store while a screen runs, so that refunds, promotions and price increases reach the app
/// at once. Apple's system asks the store when an app comes to the foreground.
struct ScreenNews: Sendable {
    /// The pause before it connects again, in seconds.
    private static let pause = 2
    /// The topics of the device's environment that concern an app.
    private static let topics = ["transactions", "offers", "accounts"]
    /// The longest line of a stream, in bytes.
    private static let longestLine = 1 << 16

    let control: URL?
    let adminToken: String?
    /// The environment's name.
    let environment: String

    /// Calls `check` when something changed, and when it has connected, until the task is cancelled.
    func run(_ check: @Sendable () -> Void) async {
        while control != nil, !Task.isCancelled {
            // A store that does not run changes nothing.
            try? await follow(check)
            try? await Task.sleep(for: .seconds(Self.pause))
        }
    }

    private func follow(_ check: () -> Void) async throws {
        guard let control else { return }
        var base = control.absoluteString
        while base.hasSuffix("/") { base.removeLast() }
        var request = HTTPRequest(
            "GET", base + ControlRoute.events.path, limits: HTTPLimits(connect: .seconds(2), silence: .seconds(40)))
        if let adminToken { request.add("Authorization", "Bearer \(adminToken)") }
        let response = try await HTTPClient.shared.send(request)
        guard response.status == 200 else { return }
        check()
        var line: [UInt8] = []
        while let bytes = try await response.next(), !Task.isCancelled {
            var isNews = false
            for byte in bytes {
                if byte == UInt8(ascii: "\n") {
                    isNews = isNews || concernsApp(line)
                    line = []
                } else if line.count < Self.longestLine {
                    line.append(byte)
                }
            }
            if isNews { check() }
        }
    }

    private func concernsApp(_ line: [UInt8]) -> Bool {
        let field = Array("data: ".utf8)
        guard line.starts(with: field),
            let changed = try? JSONDecoder().decode(
                ControlAPI.Changed.self, from: Data(line.dropFirst(field.count)))
        else { return false }
        return Self.topics.contains { changed.topics.contains("\(environment).\($0)") }
    }
}
