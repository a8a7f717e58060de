import PurchaseVault

/// What the app sells: it knows the identifiers and how each filter works; names and prices come from the store.
public enum PhotoFilter: String, CaseIterable, Sendable {
    case sepia
    case mono

    public var productIdentifier: String { "com.example.photofilters.\(rawValue)" }

    /// What the vault needs to know: buying a filter unlocks it.
    public static let grants = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.productIdentifier, VaultGrant.unlock) })

    /// The filter of a product's identifier, whole (`com.example.photofilters.sepia`) or short (`sepia`).
    public static func named(_ name: String) -> PhotoFilter? {
        allCases.first { $0.rawValue == name || $0.productIdentifier == name }
    }

    /// The picture as the filter shows it.
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

    /// One pixel's red, green and blue, which may come out above 255.
    private func color(_ red: Int, _ green: Int, _ blue: Int) -> (Int, Int, Int) {
        // How bright the eye finds it (ITU-R BT.601).
        let light = (299 * red + 587 * green + 114 * blue) / 1000
        switch self {
        case .mono: return (light, light, light)
        // A warm brown of the same light.
        case .sepia: return (light * 112 / 100 + 14, light * 94 / 100 + 8, light * 70 / 100)
        }
    }
}
