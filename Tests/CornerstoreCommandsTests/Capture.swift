import Foundation
import Synchronization

@testable import CornerstoreCommands

/// Runs a command as the program does, and keeps what it prints.
final class Capture: Sendable {
    private let texts = Mutex<(output: String, errors: String)>(("", ""))
    let environment: [String: String]

    init(environment: [String: String]) { self.environment = environment }

    var output: String { texts.withLock { $0.output } }
    var errors: String { texts.withLock { $0.errors } }

    /// - Returns: the exit code.
    func run(_ arguments: [String]) async -> Int32 {
        let console = Console(
            write: { text, stream in
                self.texts.withLock {
                    switch stream {
                    case .output: $0.output += text
                    case .error: $0.errors += text
                    }
                }
            }, isTerminal: false, showsProgress: false, style: Style(isColored: false), environment: environment)
        return await Cornerstore.run(arguments, on: console)
    }

    /// Runs one command on a fresh console.
    static func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async -> (status: Int32, output: String, errors: String) {
        let capture = Capture(environment: environment)
        let status = await capture.run(arguments)
        return (status, capture.output, capture.errors)
    }
}

extension String {
    /// The text as JSON.
    func json() throws -> Any { try JSONSerialization.jsonObject(with: Data(utf8), options: [.fragmentsAllowed]) }
    func object() throws -> [String: Any] { try json() as? [String: Any] ?? [:] }
    func objects() throws -> [[String: Any]] { try json() as? [[String: Any]] ?? [] }
}
