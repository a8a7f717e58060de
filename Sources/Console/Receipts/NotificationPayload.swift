import ControlWire
import CornerstoreEncoding
import Foundation

/// The payload of an App Store Server Notification, as JSON for people.
enum NotificationPayload {
    private static let signedMembers = ["signedTransactionInfo", "signedRenewalInfo"]

    /// The payload as indented JSON, with the signed transaction and renewal in it decoded; nil when the text is not a
    /// JWS of a JSON object. No signature is checked.
    static func readable(_ signedPayload: String) -> String? {
        guard let payload = json(signedPayload), case .object(var members) = payload else { return nil }
        if case .object(var data)? = members["data"] {
            for name in signedMembers {
                if case .string(let text)? = data[name], let inner = json(text) { data[name] = inner }
            }
            members["data"] = .object(data)
        }
        return (try? JSONEncoder.readable.encode(ControlAPI.CatalogValue.object(members)))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The JSON that a JWS signs; nil when the text is not a JWS of JSON.
    private static func json(_ jws: String) -> ControlAPI.CatalogValue? {
        let parts = Array(jws.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decoded(parts[1]) else { return nil }
        return try? JSONDecoder().decode(ControlAPI.CatalogValue.self, from: Data(bytes))
    }
}
