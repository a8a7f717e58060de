extension DecodingError {
    /// What was wrong and where, without the values.
    var place: String {
        switch self {
        case .keyNotFound(let key, let context): "\((context.codingPath + [key]).place) is missing"
        case .typeMismatch(_, let context): "\(context.codingPath.place) is of the wrong type"
        case .valueNotFound(_, let context): "\(context.codingPath.place) is empty"
        case .dataCorrupted(let context) where context.codingPath.isEmpty: context.shortDescription
        case .dataCorrupted(let context): "\(context.codingPath.place): \(context.shortDescription)"
        @unknown default: "it is not well-formed"
        }
    }
}

extension DecodingError.Context {
    /// Without the end of the sentence, which goes on.
    fileprivate var shortDescription: String {
        String((debugDescription.hasSuffix(".") ? debugDescription.dropLast() : debugDescription[...]).prefix(200))
    }
}

extension [any CodingKey] {
    /// Such as `products[2].grants[0].lifetime`.
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
