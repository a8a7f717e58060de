extension DecodingError {
    /// The error and its place, such as `products[2].grants[0].lifetime is missing`. It contains no values of the
    /// document.
    var placedDescription: String {
        switch self {
        case .keyNotFound(let key, let context): "\((context.codingPath + [key]).place) is missing"
        case .typeMismatch(_, let context): "\(context.codingPath.place) has the wrong type"
        case .valueNotFound(_, let context): "\(context.codingPath.place) is null"
        case .dataCorrupted(let context) where context.codingPath.isEmpty: context.shortDescription
        case .dataCorrupted(let context): "\(context.codingPath.place): \(context.shortDescription)"
        @unknown default: "it is malformed"
        }
    }
}

extension DecodingError.Context {
    /// The description without its final period, because the sentence continues.
    fileprivate var shortDescription: String {
        String((debugDescription.hasSuffix(".") ? debugDescription.dropLast() : debugDescription[...]).prefix(200))
    }
}

extension [any CodingKey] {
    /// The path as text, such as `products[2].grants[0].lifetime`.
    fileprivate var place: String {
        var place = ""
        for key in self {
            if let index = key.intValue {
                place += "[\(index)]"
            } else {
                place += (place.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return place.isEmpty ? "it" : String(place.prefix(200))
    }
}
