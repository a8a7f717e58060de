import CornerstoreEncoding
import Foundation

/// An app server's answer about a purchase whose refund a customer asks for: Apple's `ConsumptionRequest`.
public struct ConsumptionAnswer: Sendable, Equatable {
    /// The version of Apple's endpoint, 1 or 2.
    public let version: Int
    /// The members that Apple documents for the version, as a JSON object.
    public let json: String
}

/// The refund decision that the app's server prefers. The raw values are Apple's of version 2.
enum RefundPreference: String, Sendable, CaseIterable {
    case decline = "DECLINE"
    case grantFull = "GRANT_FULL"
    case grantProrated = "GRANT_PRORATED"
}

/// Whether a purchase was delivered. The raw values are Apple's of version 2.
private enum DeliveryStatus: String, CaseIterable {
    case delivered = "DELIVERED"
    case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
    case wrongItem = "UNDELIVERED_WRONG_ITEM"
    case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
    case other = "UNDELIVERED_OTHER"
}

extension ConsumptionAnswer {
    /// Reads the body of a request. Members that Apple does not document are left out.
    /// - Parameter version: 1 or 2.
    /// - Throws: ``APIError``.
    init(_ body: [UInt8], version: Int) throws {
        guard let members = try? FlatJSONObject(body) else { throw APIError.badRequest }
        guard (try? members.flag("customerConsented")) == true else { throw APIError.invalidCustomerConsented }
        guard let hadSample = try? members.flag("sampleContentProvided") else {
            throw APIError.invalidSampleContentProvided
        }
        var json = JSONBytes(capacity: 512)
        json.beginObject()
        json.member("customerConsented", true)
        json.member("sampleContentProvided", hadSample)
        if version == 1 {
            try Self.copyVersion1(members, to: &json)
        } else {
            try Self.copyVersion2(members, to: &json)
        }
        json.endObject()
        self.init(version: version, json: String(decoding: json.bytes, as: UTF8.self))
    }

    // MARK: Version 1

    /// The numbers of version 1, all of which are required. 0 stands for “undeclared”, or for nothing paid or refunded.
    private static let numbers: [(name: StaticString, range: ClosedRange<Int64>, error: APIError)] = [
        ("accountTenure", 0...7, .invalidAccountTenure), ("consumptionStatus", 0...3, .invalidConsumptionStatus),
        ("deliveryStatus", 0...5, .invalidDeliveryStatus),
        ("lifetimeDollarsPurchased", 0...7, .invalidLifetimeDollarsPurchased),
        ("lifetimeDollarsRefunded", 0...7, .invalidLifetimeDollarsRefunded), ("platform", 0...2, .invalidPlatform),
        ("playTime", 0...7, .invalidPlayTime), ("userStatus", 0...4, .invalidUserStatus),
    ]

    private static func copyVersion1(_ members: FlatJSONObject, to json: inout JSONBytes) throws {
        for (name, range, error) in numbers {
            guard let number = try? members.wholeNumber(name), range.contains(number) else { throw error }
            json.member(name, number: number)
        }
        guard let token = try? members.string("appAccountToken"), token.isEmpty || UUID(uuidString: token) != nil
        else { throw APIError.invalidAppAccountToken }
        json.member("appAccountToken", token.lowercased())
        let preference: Int64?
        do { preference = try members.wholeNumber("refundPreference") } catch {
            throw APIError.invalidRefundPreference
        }
        if let preference {
            guard (0...3).contains(preference) else { throw APIError.invalidRefundPreference }
            json.member("refundPreference", number: preference)
        }
    }

    // MARK: Version 2

    private static func copyVersion2(_ members: FlatJSONObject, to json: inout JSONBytes) throws {
        guard let status = try? members.choice("deliveryStatus", of: DeliveryStatus.self) else {
            throw APIError.invalidDeliveryStatus
        }
        json.member("deliveryStatus", status.rawValue)
        let percentage: Int64?
        do { percentage = try members.wholeNumber("consumptionPercentage") } catch { throw APIError.badRequest }
        if let percentage {
            // Apple has an error for a number out of range, and one for a purchase that was used but not delivered.
            // Their numbers are not known.
            guard (0...100_000).contains(percentage), percentage == 0 || status == .delivered else {
                throw APIError.badRequest
            }
            json.member("consumptionPercentage", number: percentage)
        }
        let preference: RefundPreference?
        do { preference = try members.choice("refundPreference", of: RefundPreference.self) } catch {
            throw APIError.invalidRefundPreference
        }
        if let preference { json.member("refundPreference", preference.rawValue) }
    }

    // MARK: Reading

    /// The decision that the app's server prefers; nil when it does not say, or has no preference.
    var preference: RefundPreference? {
        guard let members = try? FlatJSONObject(Array(json.utf8)) else { return nil }
        guard version == 1 else { return try? members.choice("refundPreference", of: RefundPreference.self) }
        let number = try? members.wholeNumber("refundPreference")
        return number == 1 ? .grantFull : number == 2 ? .decline : nil
    }

    /// How much of the purchase was used, in thousandths of a per cent (Apple's `consumptionPercentage`); nil when the
    /// app's server does not say.
    var consumed: Int64? {
        guard let members = try? FlatJSONObject(Array(json.utf8)) else { return nil }
        return try? members.wholeNumber("consumptionPercentage")
    }
}
