import Foundation
import Synchronization

/// The network failure behind a missing response, as an `NSURLErrorDomain` code and text. Transports throw it when they
/// know the reason.
struct NetworkCause: Error, Codable, Sendable, Equatable {
    /// An `NSURLError` code: -1001 timed out, -1004 cannot connect, -1005 connection lost, -1009 not connected, -1011
    /// bad response.
    var code: Int
    var text: String

    var error: NSError { NSError(domain: NSURLErrorDomain, code: code, userInfo: [NSLocalizedDescriptionKey: text]) }
}

extension NetworkCause {
    /// The store or a proxy returned a server error, or a response in a wrong format.
    static let badAnswer = NetworkCause(
        code: NSURLErrorBadServerResponse, text: "The store's answer could not be used.")

    /// Converts an error of the transport. The text never comes from the network.
    init(_ error: any Error) {
        switch error {
        case let cause as NetworkCause: self = cause
        default: self.init(code: NSURLErrorUnknown, text: "The network connection failed.")
        }
    }

}

extension SKError {
    /// The error with the network failure under `NSUnderlyingErrorKey`. Only ``SKError/Code/unknown`` gets one.
    func because(_ cause: NetworkCause?) -> SKError {
        guard let cause, code == .unknown else { return self }
        return SKError(code, userInfo: errorUserInfo.merging([NSUnderlyingErrorKey: cause.error]) { known, _ in known })
    }
}

/// Records the network failure of a running operation, for the error that the app receives.
///
/// A ``StoreFailure`` passes through the whole engine and decides the next step. The network failure is only needed for
/// the app's error, so a task-local value carries it.
final class NetworkWitness: Sendable {
    @TaskLocal static var current: NetworkWitness?

    private let last = Mutex<NetworkCause?>(nil)

    /// The last network failure; nil when there was none.
    var cause: NetworkCause? { last.withLock { $0 } }

    /// Records a failure.
    func saw(_ cause: NetworkCause) { last.withLock { $0 = cause } }

    /// Runs `body` and returns its result with the last network failure during it.
    static func during<Answer: Sendable>(
        _ body: @Sendable () async -> Answer
    ) async -> (answer: Answer, cause: NetworkCause?) {
        let witness = NetworkWitness()
        let answer = await $current.withValue(witness) { await body() }
        return (answer, witness.cause)
    }
}
