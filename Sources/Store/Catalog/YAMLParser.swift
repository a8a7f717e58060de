import Yams

/// Parses YAML with Yams into the same nodes as JSON. It accepts only the features that JSON has: no anchors, aliases,
/// tags or multiple documents. Scalars without quotes are `true`, `false`, `null` and numbers in JSON's notation; all
/// others are text.
enum YAMLParser {
    static func parse(_ bytes: [UInt8], file: String) throws(CatalogError) -> SourceNode {
        let text = String(validating: bytes, as: UTF8.self)
        guard let text else { throw error(file, nil, "is not UTF-8") }
        if let (line, message) = YAMLHazards.find(bytes) { throw error(file, Place(line: line, column: 1), message) }
        let parser: Parser
        let root: Node?
        do {
            parser = try Parser(yaml: text, encoding: .utf8)
            root = try parser.singleRoot()
        } catch let problem as YamlError {
            throw described(problem, file)
        } catch {
            throw self.error(file, nil, "cannot be read as YAML")
        }
        guard let root else { throw error(file, nil, "is empty") }
        // A node's anchor is valid only while the parser exists.
        return try withExtendedLifetime(parser) { () throws(CatalogError) in
            var converter = Converter(file: file)
            return try converter.convert(root, depth: 0)
        }
    }

    /// A line and column, both from 1, as in Yams.
    private struct Place {
        var line: Int
        var column: Int

        init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        init(_ mark: Mark?) { self.init(line: mark?.line ?? 1, column: mark?.column ?? 1) }
    }

    private static func error(
        _ file: String, _ mark: Place?, _ message: String, code: CatalogError.Code = .syntax
    ) -> CatalogError {
        CatalogError(
            code: code,
            problems: [
                CatalogProblem(file: file, line: mark?.line, column: mark?.column, keyPath: "", message: message)
            ]
        )
    }

    private static func described(_ problem: YamlError, _ file: String) -> CatalogError {
        switch problem {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return error(file, Place(mark), "is not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            let keys = duplicates.map { "\"\($0.prefix(40))\"" }.prefix(5).joined(separator: ", ")
            return error(file, Place(context.mark), "\(keys) appears twice in one object")
        case .reader(let problem, _, _, _):
            return error(file, nil, "is not YAML: \(problem)")
        default:
            return error(file, nil, "cannot be read as YAML")
        }
    }

    private struct Converter {
        let file: String
        var values = 0

        mutating func convert(_ node: Node, depth: Int) throws(CatalogError) -> SourceNode {
            let mark = Place(node.mark)
            values += 1
            guard values <= CatalogLimits.values else {
                throw error(file, mark, "more than \(CatalogLimits.values) values in one file", code: .tooLarge)
            }
            guard depth <= CatalogLimits.yamlDepth else {
                throw error(
                    file, mark, "more than \(CatalogLimits.yamlDepth) levels of lists and objects", code: .tooLarge)
            }
            return SourceNode(content: try content(node, mark, depth), line: mark.line, column: mark.column)
        }

        private mutating func content(_ node: Node, _ mark: Place, _ depth: Int) throws(CatalogError)
            -> SourceNode.Content
        {
            switch node {
            case .scalar(let scalar):
                guard scalar.anchor == nil else { throw error(file, mark, YAMLHazards.references) }
                return YAMLParser.content(of: scalar)
            case .sequence(let sequence):
                guard sequence.anchor == nil else { throw error(file, mark, YAMLHazards.references) }
                var elements: [SourceNode] = []
                for element in sequence { elements.append(try convert(element, depth: depth + 1)) }
                return .array(elements)
            case .mapping(let mapping):
                guard mapping.anchor == nil else { throw error(file, mark, YAMLHazards.references) }
                return .object(try members(mapping, depth: depth + 1))
            case .alias:
                throw error(file, mark, YAMLHazards.references)
            }
        }

        private mutating func members(_ mapping: Node.Mapping, depth: Int) throws(CatalogError) -> [SourceNode.Member] {
            var members: [SourceNode.Member] = []
            var keys: Set<String> = []
            for (key, value) in mapping {
                let mark = Place(key.mark)
                guard case .scalar(let scalar) = key, scalar.anchor == nil else {
                    throw error(file, mark, YAMLHazards.keys)
                }
                guard keys.insert(scalar.string).inserted else {
                    throw error(file, mark, "\"\(scalar.string.prefix(40))\" appears twice in one object")
                }
                let member = try convert(value, depth: depth)
                members.append(SourceNode.Member(key: scalar.string, line: mark.line, value: member))
            }
            return members
        }
    }

    private static func content(of scalar: Node.Scalar) -> SourceNode.Content {
        guard scalar.style == .plain || scalar.style == .any else { return .string(scalar.string) }
        switch scalar.string {
        case "", "~", "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        case let text: return JSONNumber.isLiteral(text) ? .number(text) : .string(text)
        }
    }
}
