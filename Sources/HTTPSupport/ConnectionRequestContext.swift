import Hummingbird
public import NIOCore

/// What a request carries that knows its connection.
public protocol ConnectionRequestContext: RequestContext {
    /// The connection that it came by.
    var channel: any Channel { get }
}
