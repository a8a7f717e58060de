import Foundation
import Synchronization

/// A request to the store, which reports to its delegate. It stays alive while it runs.
open class SKRequest: NSObject {
    // Disfavoured, so that `delegate` of a products request is its own property.
    /// The delegate, which receives the result. It is not retained.
    @_disfavoredOverload
    open weak var delegate: (any SKRequestDelegate)?

    /// The running task. Its number distinguishes the current run from a late response of a cancelled one.
    final let run = Mutex<(number: Int, task: Task<Void, Never>?)>((0, nil))

    /// Creates a request that does nothing, for subclasses.
    public override init() { super.init() }

    /// Sends the request. It does nothing while the request is running.
    open func start() {}

    /// Cancels the request. The delegate receives no further calls.
    open func cancel() {
        run.withLock {
            $0.task?.cancel()
            $0 = ($0.number + 1, nil)
        }
    }
}

/// The delegate of a request. A request calls exactly one of the two methods, unless it was cancelled. Both are
/// optional.
public protocol SKRequestDelegate: NSObjectProtocol {
    /// Reports that the request succeeded.
    func requestDidFinish(_ request: SKRequest)
    /// Reports that the request failed, with an ``SKError``.
    func request(_ request: SKRequest, didFailWithError error: any Error)
}

extension SKRequestDelegate {
    /// Does nothing.
    public func requestDidFinish(_ request: SKRequest) {}
    /// Does nothing.
    public func request(_ request: SKRequest, didFailWithError error: any Error) {}
}

/// Carries an object of a class that is not Sendable to the callback queue.
// @unchecked: the object is only touched again on the callback queue.
struct Carried<Object>: @unchecked Sendable {
    let object: Object
}
