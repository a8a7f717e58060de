extension ContentRule {
    /// The content must be for the expected product.
    static let product = ContentRule { inspection in
        guard case .read(let info)? = inspection.info, let expected = inspection.expectation.productID,
            !info.productID.utf8.elementsEqual(expected.utf8)
        else { return [] }
        return [
            ContentFinding(
                .product, path: ContentInfo.fileName, "The package is for \(info.productID), not for \(expected).",
                "Set \(ContentInfo.productKey) to \(expected), or upload the package for \(info.productID).")
        ]
    }
}
