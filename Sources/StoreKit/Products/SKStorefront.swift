import Foundation
import StoreWire

/// The country's store that the account shops in.
// @unchecked: all stored properties are constants.
open class SKStorefront: NSObject, @unchecked Sendable {
    private let values: StorefrontDescription

    /// An empty storefront, for subclasses in tests.
    public override init() {
        values = StorefrontDescription(countryCode: "", identifier: "")
        super.init()
    }

    init(_ description: StorefrontDescription) {
        values = description
        super.init()
    }

    /// ISO 3166-1 alpha-3: `USA`.
    open var countryCode: String { values.countryCode }
    /// Apple's number of the storefront: `143441`.
    open var identifier: String { values.identifier }
}
