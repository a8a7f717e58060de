import StoreWire

/// The two catalog formats. They share most keys; keys of only one format are read only there.
enum CatalogDialect: Sendable {
    /// Xcode's JSON. Unknown keys are preserved.
    case storeKit
    /// Our YAML. Unknown keys are errors, and keys that only Xcode's format has are under `xcode`.
    case cornerstore
}

/// Collects the problems and notes while one file is read. Not shared between threads.
final class CatalogReading {
    let file: String
    let dialect: CatalogDialect
    private(set) var problems: [CatalogProblem] = []
    /// Valid contents that are probably mistakes.
    private(set) var notes: [CatalogProblem] = []
    /// The keys that were read, by kind of object. A test compares them with the published schema.
    private(set) var keysAsked: [String: Set<String>] = [:]
    private var isTooLarge = false

    init(file: String, dialect: CatalogDialect) {
        self.file = file
        self.dialect = dialect
    }

    func problem(_ node: SourceNode?, _ keyPath: String, _ message: String) {
        guard problems.count < CatalogLimits.problems else { return }
        problems.append(make(node, keyPath, message))
    }

    func tooLarge(_ node: SourceNode?, _ keyPath: String, _ message: String) {
        isTooLarge = true
        problem(node, keyPath, message)
    }

    func note(_ node: SourceNode?, _ keyPath: String, _ message: String) {
        guard notes.count < CatalogLimits.problems else { return }
        notes.append(make(node, keyPath, message))
    }

    func asked(_ key: String, of kind: String) { keysAsked[kind, default: []].insert(key) }

    /// Throws if there were problems.
    func finish() throws(CatalogError) {
        guard !problems.isEmpty else { return }
        throw CatalogError(code: isTooLarge ? .tooLarge : .invalid, problems: problems)
    }

    private func make(_ node: SourceNode?, _ keyPath: String, _ message: String) -> CatalogProblem {
        CatalogProblem(file: file, line: node?.line, column: node?.column, keyPath: keyPath, message: message)
    }
}

/// Reads the members of one object of a catalog file. Each accessor records a problem and returns nil when the member
/// is invalid. A null member counts as absent.
final class ObjectReader {
    let node: SourceNode
    let path: String
    let reading: CatalogReading
    private let kind: String
    private var members: [String: SourceNode.Member]
    private var unread: Set<String>

    /// Creates a reader of an object. Records a problem and returns nil when the value is not an object. `kind` is the
    /// object's name in the published schema.
    init?(_ node: SourceNode, _ path: String, kind: String, _ reading: CatalogReading) {
        guard case .object(let list) = node.content else {
            reading.problem(node, path, "expected an object, found \(node.kind)")
            return nil
        }
        self.node = node
        self.path = path
        self.kind = kind
        self.reading = reading
        members = Dictionary(list.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        unread = Set(members.keys)
    }

    func path(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// The member's value; nil when it is absent or null.
    func member(_ key: String) -> SourceNode? {
        reading.asked(key, of: kind)
        unread.remove(key)
        guard let value = members[key]?.value else { return nil }
        if case .null = value.content { return nil }
        return value
    }

    func problem(_ key: String, _ message: String) { reading.problem(members[key]?.value ?? node, path(key), message) }
    func note(_ key: String, _ message: String) { reading.note(members[key]?.value ?? node, path(key), message) }

    func missing(_ key: String, _ advice: String) {
        reading.problem(node, path(key), "is missing; \(advice)")
    }

    private func mismatch<Value>(_ key: String, _ value: SourceNode, _ wanted: String) -> Value? {
        problem(key, "expected \(wanted), found \(value.kind)")
        return nil
    }

    func string(_ key: String) -> String? {
        guard let value = member(key) else { return nil }
        guard let text = text(of: value) else { return mismatch(key, value, "a string") }
        guard text.utf8.count <= CatalogLimits.text else {
            reading.tooLarge(value, path(key), "is longer than \(CatalogLimits.text) bytes")
            return nil
        }
        return text
    }

    /// The value as a string. In YAML, a scalar without quotes is a string even if it looks like a number.
    private func text(of value: SourceNode) -> String? {
        switch (value.content, reading.dialect) {
        case (.string(let text), _), (.number(let text), .cornerstore): text
        case (.bool(let flag), .cornerstore): String(flag)
        default: nil
        }
    }

    func bool(_ key: String) -> Bool? {
        guard let value = member(key) else { return nil }
        guard case .bool(let flag) = value.content else { return mismatch(key, value, "true or false") }
        return flag
    }

    func int(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let value = member(key) else { return nil }
        guard case .number(let literal) = value.content, let number = Int(literal), range.contains(number) else {
            return mismatch(key, value, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func strings(_ key: String) -> [String]? {
        guard let value = member(key) else { return nil }
        guard case .array(let elements) = value.content else { return mismatch(key, value, "a list of strings") }
        guard elements.count <= CatalogLimits.list else {
            reading.tooLarge(value, path(key), "has more than \(CatalogLimits.list) elements")
            return nil
        }
        let texts = elements.compactMap(text(of:))
        guard texts.count == elements.count else { return mismatch(key, value, "a list of strings") }
        return texts
    }

    func object(_ key: String, kind: String) -> ObjectReader? {
        member(key).flatMap { ObjectReader($0, path(key), kind: kind, reading) }
    }

    /// The elements that are objects; empty when the member is absent.
    func objects(_ key: String, kind: String, limit: Int = CatalogLimits.list) -> [ObjectReader] {
        guard let value = member(key) else { return [] }
        guard case .array(let elements) = value.content else {
            problem(key, "expected a list, found \(value.kind)")
            return []
        }
        guard elements.count <= limit else {
            reading.tooLarge(value, path(key), "has more than \(limit) elements")
            return []
        }
        return elements.enumerated().compactMap { ObjectReader($1, "\(path(key))[\($0)]", kind: kind, reading) }
    }

    /// The members of an object whose keys are data, such as prices by storefront.
    func entries(_ key: String) -> [SourceNode.Member] {
        guard let value = member(key) else { return [] }
        guard case .object(let members) = value.content else {
            problem(key, "expected an object, found \(value.kind)")
            return []
        }
        return members
    }

    /// Whether the member exists, including null.
    func has(_ key: String) -> Bool { members[key] != nil }

    /// Returns the unknown members. Call this last. In our own format these are the members under `xcode`, and all
    /// others are problems.
    func unknown() -> [String: JSONValue] {
        guard reading.dialect == .cornerstore else {
            return Dictionary(
                unread.compactMap { key in members[key].map { (key, $0.value.value) } }, uniquingKeysWith: { $1 })
        }
        let kept = entries("xcode")
        refuseUnread()
        return Dictionary(kept.map { ($0.key, $0.value.value) }, uniquingKeysWith: { $1 })
    }

    /// Records a problem for each key that was not read.
    func refuseUnread() {
        for key in unread.sorted(by: { (members[$0]?.line ?? 0, $0) < (members[$1]?.line ?? 0, $1) }) {
            guard let member = members[key] else { continue }
            let place = SourceNode(content: .null, line: member.line, column: 1)
            reading.problem(
                place, path(String(key.prefix(40))), "is not a key of \(kind); correct its spelling, or remove it")
        }
    }
}
