public import Foundation
public import StoreKit

/// The arguments by which an app is shown on a page: `--web`, and `--port` with a number.
public struct ScreenOptions: Sendable, Equatable {
    /// The port; nil for the app's usual one, or any that is free when that one is taken.
    public var port: Int?

    /// An error in the arguments.
    public struct Misuse: LocalizedError, Equatable {
        /// The message for standard error.
        public var text: String
        /// ``text``.
        public var errorDescription: String? { text }
    }

    /// The lines about the arguments in an app's usage text.
    /// - Parameter program: the app's command.
    public static func help(_ program: String) -> String {
        """
        \(program) --web                shows the app on a page for browsers of this machine
            --port NUMBER               the page's port
        """
    }

    /// Takes the arguments out of others.
    /// - Returns: the options, nil without `--web`, and the other arguments.
    /// - Throws: ``Misuse``.
    public static func taken(from arguments: [String]) throws(Misuse) -> (ScreenOptions?, rest: [String]) {
        var rest = arguments
        guard let web = rest.firstIndex(of: "--web") else { return (nil, rest) }
        rest.remove(at: web)
        var options = ScreenOptions()
        if let index = rest.firstIndex(of: "--port") {
            guard index + 1 < rest.count, let port = Int(rest[index + 1]), (0...65_535).contains(port) else {
                throw Misuse(text: "--port needs a number from 0 to 65535")
            }
            options.port = port
            rest.removeSubrange(index...index + 1)
        }
        guard rest.isEmpty else {
            throw Misuse(text: "--web goes with --port only, not with \(rest.joined(separator: " "))")
        }
        return (options, rest)
    }

    /// Opens the screen: ``DeviceScreen/open(named:port:usualPort:_:environment:)``.
    /// - Throws: ``PortTaken``, or the system's error when the port cannot be opened.
    public func open(
        named name: String, usualPort: Int, _ configuration: inout StoreKitConfiguration,
        environment: [String: String]
    ) async throws -> DeviceScreen {
        try await DeviceScreen.open(
            named: name, port: port, usualPort: usualPort, &configuration, environment: environment)
    }
}
