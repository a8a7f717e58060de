import Foundation
import HTTPTypes
import Hummingbird

extension Request {
    /// Whether the client has the version with this entity tag already (`If-None-Match`; RFC 9110, section 13.1.2).
    public func isFresh(_ tag: String) -> Bool {
        guard let known = headers[.ifNoneMatch] else { return false }
        return known.split(separator: ",").contains { part in
            let part = part.trimmingCharacters(in: .whitespaces)
            return part == "*" || part == tag || part == "W/\(tag)"
        }
    }
}
