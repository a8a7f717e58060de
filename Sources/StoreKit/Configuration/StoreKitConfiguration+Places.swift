import Foundation
import StoreWire

/// Where this device keeps what belongs to one app, for the modules that stand beside StoreKit.
extension StoreKitConfiguration {
    /// `identifierForVendor` of this device, which receipts are bound to. Made at first use.
    ///
    /// - Throws: ``DeviceError`` when the device's folder cannot be made or read.
    package func vendorIdentifier() throws -> UUID { try DeviceFolder(deviceFolder).vendorIdentifier }

    /// The app's receipt, whether or not it is there; nil without a bundle identifier.
    package var receiptURL: URL? {
        bundleIdentifier.map {
            DeviceFolder.receiptURL(device: deviceFolder, bundleID: BundleID($0), environment: environment)
        }
    }

    /// A folder of the app in the device's folder, below `area`; not made here. Nil without a bundle identifier.
    package func appFolder(in area: String) -> URL? {
        bundleIdentifier.map {
            deviceFolder.appendingPathComponent(area, isDirectory: true)
                .appendingPathComponent(DeviceFolder.fileName($0), isDirectory: true)
        }
    }
}
