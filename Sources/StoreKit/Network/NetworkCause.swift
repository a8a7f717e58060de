import Foundation
import Synchronization

/// Why no answer came from the store, in the words of `NSURLErrorDomain`. Transports throw it when they know.
struct NetworkCause: Error, Codable, Sendable, Equatable {
    /// An `NSURLError` code: -1001 timed out, -1004 cannot connect, -1005 connection lost, -1009 not connected, -1011 bad answer.
    var code: Int
    var text: String

    var error: NSError { NSError(domain: NSURLErrorDomain, code: code, userInfo: [NSLocalizedDescriptionKey: text]) }
}

extension NetworkCause {
    /// The store, or something before it, said that it cannot answer, or what is no answer.
    static let badAnswer = NetworkCause(
        code: NSURLErrorBadServerResponse, text: "The store's answer could not be used.")

    /// Reads what the transport threw. The text never comes from the wire.
    init(_ error: any Error) {
        switch error {
        case let cause as NetworkCause: self = cause
        default: self.init(code: NSURLErrorUnknown, text: "The network connection failed.")
        }
    }

}

extension SKError {
    /// The error with the network's own under it.
    func because(_ cause: NetworkCause?) -> SKError {
        guard let cause, code == .unknown else { return self }
        return SKError(code, userInfo: errorUserInfo.merging([NSUnderlyingErrorKey: cause.error]) { known, _ in known })
    }
}

/// Collects what went wrong on the wire while a question is put, for the error that the app is given in the end.
///
/// A ``StoreFailure`` says what to do next, and is passed through all of the engine; this says what the network said, and
/// is only wanted at the edge.
final class NetworkWitness: Sendable {
    @TaskLocal static var current: NetworkWitness?

    private let last = Mutex<NetworkCause?>(nil)

    /// What was said last; nil when the network did its part.
    var cause: NetworkCause? { last.withLock { $0 } }

    func saw(_ cause: NetworkCause) { last.withLock { $0 = cause } }

    /// Puts a question, and gives its answer with what the network said meanwhile.
    static func during<Answer: Sendable>(
        _ body: @Sendable () async -> Answer
    ) async -> (answer: Answer, cause: NetworkCause?) {
        let witness = NetworkWitness()
        let answer = await $current.withValue(witness) { await body() }
        return (answer, witness.cause)
    }
}
