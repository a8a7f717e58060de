import Foundation
import Synchronization

/// A question to the store, answered to its delegate. It stays alive while it runs.
open class SKRequest: NSObject {
    /// Is told the answer; not retained.
    // Disfavoured, so that a products request is read through its own property.
    @_disfavoredOverload
    open weak var delegate: (any SKRequestDelegate)?

    /// The running work; its number tells a late answer of a cancelled run from the present one's.
    final let run = Mutex<(number: Int, task: Task<Void, Never>?)>((0, nil))

    /// A request that asks nothing, for subclasses.
    public override init() { super.init() }

    /// Sends the question. Starting one that runs already does nothing.
    open func start() {}

    /// Stops it: the delegate is told nothing more.
    open func cancel() {
        run.withLock {
            $0.task?.cancel()
            $0 = ($0.number + 1, nil)
        }
    }
}

/// Is told how a request ended: exactly one of the two, unless it was cancelled. Both are optional.
public protocol SKRequestDelegate: NSObjectProtocol {
    /// The request was answered.
    func requestDidFinish(_ request: SKRequest)
    /// It could not be. The error is an ``SKError``.
    func request(_ request: SKRequest, didFailWithError error: any Error)
}

extension SKRequestDelegate {
    public func requestDidFinish(_ request: SKRequest) {}
    public func request(_ request: SKRequest, didFailWithError error: any Error) {}
}

/// Carries an object of a class that is not Sendable to the callback queue.
// @unchecked: the object is only touched again on the callback queue.
struct Carried<Object>: @unchecked Sendable {
    let object: Object
}
