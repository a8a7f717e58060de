import Foundation
import Testing
import Yams

/// The OpenAPI document, as far as the tests look at it.
struct OpenAPIDocument {
    let root: [String: Any]

    /// Reads `Documentation/openapi-merchant.yaml` of this package.
    init() throws {
        let text = try String(
            contentsOf: Self.folder.appendingPathComponent("Documentation/openapi-merchant.yaml"), encoding: .utf8)
        root = try #require(try Yams.load(yaml: text) as? [String: Any])
    }

    /// The package's folder.
    static var folder: URL {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        return folder
    }

    /// Each operation as its method and path, such as `GET /v1/products`.
    func operations() throws -> [String: [String: Any]] {
        let paths = try #require(root["paths"] as? [String: [String: Any]])
        var operations: [String: [String: Any]] = [:]
        for (path, item) in paths {
            for (method, operation) in item {
                operations["\(method.uppercased()) \(path)"] = try #require(operation as? [String: Any])
            }
        }
        return operations
    }

    /// What a reference such as `#/components/schemas/Balance` leads to.
    func resolve(_ reference: String) throws -> [String: Any] {
        var value: Any = root
        for part in reference.split(separator: "/").dropFirst() {
            value = try #require((value as? [String: Any])?[String(part)], "\(reference) leads nowhere")
        }
        return try #require(value as? [String: Any], "\(reference)")
    }

    /// All references in the document.
    func references() -> [String] {
        func collect(_ value: Any) -> [String] {
            switch value {
            case let object as [String: Any]:
                object.flatMap { name, value in
                    if name == "$ref", let reference = value as? String { return [reference] }
                    return collect(value)
                }
            case let list as [Any]: list.flatMap(collect)
            default: []
            }
        }
        return collect(root)
    }

    /// What in a JSON value is not as a schema says: the part of JSON Schema that the document uses.
    func complaints(_ value: Any, _ schema: [String: Any], at place: String = "$") throws -> [String] {
        if let reference = schema["$ref"] as? String {
            return try complaints(value, resolve(reference), at: place)
        }
        var found: [String] = []
        if let type = schema["type"] {
            let types = (type as? [String]) ?? [type as? String ?? ""]
            if !types.contains(where: { Self.isType($0, value) }) { return ["\(place) is not \(types)"] }
        }
        if let allowed = schema["enum"] as? [String], let text = value as? String, !allowed.contains(text) {
            found.append("\(place) is none of \(allowed)")
        }
        if let only = schema["const"] as? Int, value as? Int != only { found.append("\(place) is not \(only)") }
        if let pattern = schema["pattern"] as? String, let text = value as? String,
            try text.firstMatch(of: Regex(pattern)) == nil
        {
            found.append("\(place) does not match \(pattern)")
        }
        if let options = schema["oneOf"] as? [[String: Any]] {
            let fitting = try options.count { try complaints(value, $0, at: place).isEmpty }
            if fitting != 1 { found.append("\(place) fits \(fitting) of the \(options.count) forms") }
        }
        if let options = schema["anyOf"] as? [[String: Any]],
            try !options.contains(where: { try complaints(value, $0, at: place).isEmpty })
        {
            found.append("\(place) fits none of the forms")
        }
        if let other = schema["not"] as? [String: Any], try complaints(value, other, at: place).isEmpty {
            found.append("\(place) is what it must not be")
        }
        if let object = value as? [String: Any] {
            for name in schema["required"] as? [String] ?? [] where object[name] == nil {
                found.append("\(place).\(name) is missing")
            }
            if let properties = schema["properties"] as? [String: Any] {
                for (name, member) in object {
                    // The document leaves nothing out that the server sends.
                    guard let property = properties[name] as? [String: Any] else {
                        found.append("\(place).\(name) is not in the document")
                        continue
                    }
                    found += try complaints(member, property, at: "\(place).\(name)")
                }
            }
        }
        if let list = value as? [Any], let items = schema["items"] as? [String: Any] {
            for (index, item) in list.enumerated() { found += try complaints(item, items, at: "\(place)[\(index)]") }
        }
        return found
    }

    private static func isType(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": isBoolean(value)
        case "integer": !isBoolean(value) && value is Int
        case "number": !isBoolean(value) && value is Double
        case "null": value is NSNull
        default: false
        }
    }

    /// Whether a value of `JSONSerialization` was written as true or false, which are numbers there too.
    private static func isBoolean(_ value: Any) -> Bool {
        (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? (value is Bool)
    }
}
