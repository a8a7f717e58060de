import Foundation
import StoreWire

/// The locations of one app's files on this device, for the modules that build on StoreKit.
extension StoreKitConfiguration {
    /// `identifierForVendor` of this device, which receipts are bound to. It is created at first use.
    ///
    /// - Throws: ``DeviceError`` when the device's folder cannot be created or read.
    package func vendorIdentifier() throws -> UUID { try DeviceFolder(deviceFolder).vendorIdentifier }

    /// The location of the app's receipt, which may not exist yet; nil without a bundle identifier.
    package var receiptURL: URL? {
        bundleIdentifier.map {
            DeviceFolder.receiptURL(device: deviceFolder, bundleID: BundleID($0), environment: environment)
        }
    }

    /// The app's folder below `area` in the device's folder; nil without a bundle identifier. It is not created.
    package func appFolder(in area: String) -> URL? {
        bundleIdentifier.map {
            deviceFolder.appendingPathComponent(area, isDirectory: true)
                .appendingPathComponent(DeviceFolder.fileName($0), isDirectory: true)
        }
    }
}
