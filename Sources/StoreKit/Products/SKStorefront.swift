import Foundation
import StoreWire

// @unchecked: all stored properties are constants.
/// A storefront: the store of one country.
open class SKStorefront: NSObject, @unchecked Sendable {
    private let values: StorefrontDescription

    /// Creates an empty storefront, for subclasses in tests.
    public override init() {
        values = StorefrontDescription(countryCode: "", identifier: "")
        super.init()
    }

    init(_ description: StorefrontDescription) {
        values = description
        super.init()
    }

    /// The country code, ISO 3166-1 alpha-3: `USA`.
    open var countryCode: String { values.countryCode }
    /// Apple's storefront number: `143441`.
    open var identifier: String { values.identifier }
}
