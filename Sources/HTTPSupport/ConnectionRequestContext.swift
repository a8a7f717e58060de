import Hummingbird
public import NIOCore

/// The context of a request that knows its connection.
public protocol ConnectionRequestContext: RequestContext {
    /// The connection that the request arrived on.
    var channel: any Channel { get }
}
