import StoreWire

/// Why the store refused. `code` goes to the device as it stands; `detail` is safe to show and holds no secret.
public struct StoreError: Error, Sendable, Equatable {
    public var code: WireError.Code
    public var detail: String

    public init(_ code: WireError.Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}
