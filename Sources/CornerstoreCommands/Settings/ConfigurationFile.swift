import Yams

/// The file of `--config`: a YAML or JSON mapping of option names to values.
struct ConfigurationFile<Name: SettingName> {
    private(set) var values: [Name: String] = [:]
    private(set) var lists: [Name.List: [String]] = [:]

    static func read(_ path: String) throws -> ConfigurationFile {
        let bytes = try BoundedInput.read(path, limit: 64 << 10, what: "configuration")
        return try ConfigurationFile(text: String(decoding: bytes, as: UTF8.self), path: path)
    }

    /// Parses the file's text.
    /// - Throws: ``CommandError`` that names the file and the key.
    init(text: String, path: String) throws {
        let node: Node?
        do {
            node = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw CommandError(.usage, "\(path) is neither YAML nor JSON: \(Self.firstLine("\(error)"))")
        } catch {
            throw CommandError(.usage, "\(path) is neither YAML nor JSON.")
        }
        guard let node else { return }
        guard case .mapping(let mapping) = node else {
            throw CommandError(.usage, "\(path) must hold option names with values, such as “host: 127.0.0.1”.")
        }
        for (key, value) in mapping { try take(key.string ?? "", value, path) }
    }

    private mutating func take(_ key: String, _ value: Node, _ path: String) throws {
        if let list = Name.List(rawValue: key) {
            lists[list] = try Self.list(value, "\(path): “\(key)” must be a value or a list of values.")
            return
        }
        guard let setting = Name(rawValue: key) else {
            let known = Name.List.allCases.map(\.rawValue) + Name.allCases.map(\.rawValue)
            throw CommandError(
                .usage,
                "\(path): unknown option “\(Style.printable(key))”. The options are \(known.joined(separator: ", ")).\(Name.hint)"
            )
        }
        guard let text = value.scalar?.string else {
            throw CommandError(.usage, "\(path): “\(key)” must be one value.")
        }
        values[setting] = text
    }

    /// Returns the values of a scalar or a list.
    private static func list(_ value: Node, _ problem: String) throws -> [String] {
        let nodes = value.sequence.map { Array($0) } ?? [value]
        let texts = nodes.compactMap(\.string)
        guard texts.count == nodes.count else { throw CommandError(.usage, problem) }
        return texts
    }

    private static func firstLine(_ text: String) -> String { text.split(separator: "\n").first.map(String.init) ?? "" }
}
