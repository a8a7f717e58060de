import PurchaseVault

/// A filter that the app sells. Its name and price come from the store.
public enum PhotoFilter: String, CaseIterable, Sendable {
    /// A warm brown tone.
    case sepia
    /// Black and white.
    case mono

    /// The identifier of the filter's product.
    public var productIdentifier: String { "com.example.photofilters.\(rawValue)" }

    /// The grants of each product, for the vault. A purchase unlocks the filter.
    public static let grants = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.productIdentifier, VaultGrant.unlock) })

    /// Returns the filter with a product identifier, in full (`com.example.photofilters.sepia`) or short (`sepia`).
    public static func named(_ name: String) -> PhotoFilter? {
        allCases.first { $0.rawValue == name || $0.productIdentifier == name }
    }

    /// Returns the filtered picture.
    public func apply(to picture: Picture) -> Picture {
        var result = picture
        for start in stride(from: 0, to: result.pixels.count, by: 4) {
            let (red, green, blue) = (
                Int(picture.pixels[start]), Int(picture.pixels[start + 1]), Int(picture.pixels[start + 2])
            )
            let new = color(red, green, blue)
            result.pixels[start] = UInt8(min(255, new.0))
            result.pixels[start + 1] = UInt8(min(255, new.1))
            result.pixels[start + 2] = UInt8(min(255, new.2))
        }
        return result
    }

    /// Returns a pixel's filtered red, green and blue, which may exceed 255.
    private func color(_ red: Int, _ green: Int, _ blue: Int) -> (Int, Int, Int) {
        // The pixel's luminance (ITU-R BT.601).
        let light = (299 * red + 587 * green + 114 * blue) / 1000
        switch self {
        case .mono: return (light, light, light)
        // A warm brown of the same luminance.
        case .sepia: return (light * 112 / 100 + 14, light * 94 / 100 + 8, light * 70 / 100)
        }
    }
}
