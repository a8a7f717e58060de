import CornerstoreEncoding
import Database
import Foundation
import MerchantWire
import StoreWire

/// The merchant's answer to the store about a purchase whose refund its customer asks for: Apple's
/// `ConsumptionRequest`, version 2 of the endpoint. The members have Apple's names.
struct ConsumptionAnswer: Encodable, Equatable {
    /// The store takes no other value.
    let customerConsented = true
    var sampleContentProvided: Bool
    var deliveryStatus: String
    /// The consumed part in thousandths of a per cent; nil when it is not known.
    var consumptionPercentage: Int64?
    var refundPreference: String?

    private enum CodingKeys: String, CodingKey {
        case customerConsented, sampleContentProvided, deliveryStatus, consumptionPercentage, refundPreference
    }

    /// Creates an answer about a purchase.
    /// - Parameters:
    ///   - purchase: the redemption key. A purchase that nobody has redeemed was not delivered.
    init(_ purchase: String, _ policy: ConsumptionPolicy, _ connection: Connection) throws {
        sampleContentProvided = policy.hasSamples
        refundPreference = policy.preference?.rawValue
        guard let row = try RedemptionRow.find(purchase, connection), !row.userID.rawValue.isEmpty else {
            deliveryStatus = "UNDELIVERED_OTHER"
            return
        }
        deliveryStatus = "DELIVERED"
        // The store knows how much of a subscription's period is over, and takes no percentage for one.
        guard row.expiresAt == nil else { return }
        consumptionPercentage = try Self.consumed(row, connection)
    }

    /// The JSON body.
    var body: [UInt8] {
        get throws { Array(try JSONEncoder.compact.encode(self)) }
    }

    /// The spent part of a redemption's credits, in thousandths of a per cent; nil for a purchase without credits. Of
    /// several currencies, the one that was spent most counts.
    private static func consumed(_ row: RedemptionRow, _ connection: Connection) throws -> Int64? {
        var most: Int64?
        // The policy at the time of the redemption chose the account.
        let environments = Set([RedemptionKey.environment(of: row.key), .production])
        for case .credits(let currency, _, let lifetime) in row.credits {
            for environment in environments {
                let account = CreditAccount(currency, in: environment).name
                guard
                    let (granted, spent) = try Ledger.spent(
                        of: row.key, row.creditedUser, account, ends: lifetime != nil, connection)
                else { continue }
                // A grant is at most a thousand billion.
                most = max(most ?? 0, spent * 100_000 / granted)
            }
        }
        return most
    }
}
