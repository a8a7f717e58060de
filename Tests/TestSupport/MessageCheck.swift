import CornerstoreEncoding
import Foundation

/// Compares a message's one reader or writer with the `Codable` of the other end, field by field. A field that the
/// reader or writer leaves out cannot pass: a check with an empty field complains too.
package enum MessageCheck {
    /// The fields of a value that are nil or empty, by their paths.
    package static func emptyFields(of value: Any, at path: String) -> [String] {
        let mirror = Mirror(reflecting: value)
        if let text = value as? String, text.isEmpty { return [path] }
        if mirror.displayStyle == .optional || mirror.displayStyle == .collection, mirror.children.isEmpty {
            return [path]
        }
        return mirror.children.flatMap { emptyFields(of: $0.value, at: "\(path).\($0.label ?? "")") }
    }

    // MARK: Writers

    /// Compares what a writer writes with what the other end reads.
    package static func complaints<Message: JSONWritable & Decodable & Equatable>(
        aboutWriterOf message: Message
    ) -> [String] {
        var found = emptyFields(of: message, at: "\(Message.self)").map { "\($0) is empty" }
        do {
            let read = try JSONDecoder().decode(Message.self, from: Data(message.json))
            if read != message { found.append("\(message) was read as \(read)") }
            _ = try FlatJSONObject(message.json)
        } catch {
            found.append("\(error)")
        }
        return found
    }

    // MARK: Readers

    /// Compares what the other end writes with what a reader reads, and gives the reader odd forms of every member.
    /// - Parameter emptyOnPurpose: the fields that cannot be set together with the others.
    package static func complaints<Message: JSONReadable & Encodable & Equatable>(
        aboutReaderOf message: Message, emptyOnPurpose: Set<String> = []
    ) throws -> [String] {
        var found = emptyFields(of: message, at: "\(Message.self)").filter { !emptyOnPurpose.contains($0) }
            .map { "\($0) is empty" }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(message), as: UTF8.self)
        for accepted in try Self.accepted(text) {
            do throws(FlatJSONScanner.Failure) {
                let read = try Message(json: Array(accepted.utf8))
                if read != message { found.append("\(accepted) was read as \(read)") }
            } catch {
                found.append("\(accepted) was refused: \(error.sentence)")
            }
        }
        for json in try broken(text) where (try? Message(json: json)) != nil {
            found.append("\(String(decoding: json, as: UTF8.self)) was accepted")
        }
        for change in try changes(of: text) {
            found += complaint(about: change, Message.self)
        }
        return found
    }

    /// A message in which one member was changed, and the reader's duty.
    private struct Change {
        enum Duty: Equatable {
            /// Refuse the member by its path.
            case refuse
            /// Refuse the member by its path, or read the message as if the member were missing.
            case leaveOut
        }

        var member: String
        var json: String
        var duty: Duty
        /// The message without the member.
        var without: String
    }

    private static func complaint<Message: JSONReadable & Equatable>(
        about change: Change, _: Message.Type
    ) -> [String] {
        do throws(FlatJSONScanner.Failure) {
            let read = try Message(json: Array(change.json.utf8))
            if change.duty == .leaveOut, read == (try? Message(json: Array(change.without.utf8))) { return [] }
            return ["\(change.member) is not judged: \(change.json) was read as \(read)"]
        } catch {
            return error.member == change.member ? [] : ["\(change.member): \(change.json) gave “\(error.sentence)”"]
        }
    }

    /// The members of an object in their order, with the text of each value.
    private static func members(of object: String) throws -> [(name: String, value: String)] {
        let json = Array(object.utf8)
        var scanner = FlatJSONScanner()
        var found: [(String, String)] = []
        try scanner.beginObject(json.span)
        while let name = try scanner.nextName(json.span, isFirst: found.isEmpty) {
            _ = scanner.peek(json.span)
            let start = scanner.position
            try scanner.skipValue(json.span)
            found.append(
                (
                    String(decoding: json[name.range], as: UTF8.self),
                    String(decoding: json[start..<scanner.position], as: UTF8.self)
                ))
        }
        try scanner.end(json.span)
        return found
    }

    private static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// Other forms of the same message.
    private static func accepted(_ text: String) throws -> [String] {
        let members = try members(of: text)
        let escaped = members.map { member in
            let first = member.name.utf8.first.map { String($0, radix: 16) } ?? ""
            return (name: "\\u00\(first)" + member.name.dropFirst(), value: member.value)
        }
        return [
            text, object(members.reversed()), object(escaped), " \n\t\r" + text + " \n",
            object(members + [("more", #"{"a":[1,{"b":null}],"c":"\ud83d\ude48"}"#)]),
            object([("", "0"), ("Key", "[]")] + members),
        ]
    }

    /// Forms of the message that are no JSON, or too odd to be read.
    private static func broken(_ text: String) throws -> [[UInt8]] {
        let whole = Array(text.utf8)
        let members = try members(of: text)
        func with(_ value: String) -> [UInt8] { Array(object(members + [("more", value)]).utf8) }
        let deep = FlatJSONScanner.maximumDepth + 2
        let many = (0..<FlatJSONObject.maximumMembers).map { ("m\($0)", "0") }
        var found = whole.indices.map { Array(whole[..<$0]) }
        found += [
            [0xEF, 0xBB, 0xBF] + whole, whole + [0], whole + whole, whole + Array("x".utf8), whole + Array(",".utf8),
            Array("[\(text)]".utf8), Array("/**/\(text)".utf8), Array("null".utf8), Array("\"\"".utf8),
            with(String(repeating: "[", count: deep) + String(repeating: "]", count: deep)),
            with(String(repeating: "[", count: 500_000)), with("01"), with("+1"), with("'a'"), with("\"\\ud800\""),
            with("\"\u{1}\""), with("1,"), Array(object(members + many).utf8),
        ]
        let odd = with("\"?\"")
        if let mark = odd.lastIndex(of: UInt8(ascii: "?")) {
            for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]] {
                found.append(Array(odd[..<mark]) + bytes + Array(odd[(mark + 1)...]))
            }
        }
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32] {
            if let data = text.data(using: encoding) { found.append(Array(data)) }
        }
        return found
    }

    /// The message with each of its members changed, those of nested objects too.
    private static func changes(of text: String) throws -> [Change] {
        let members = try members(of: text)
        return try members.indices.flatMap { index -> [Change] in
            let (name, value) = members[index]
            var others = members
            others.remove(at: index)
            let without = object(others)
            func with(_ value: String) -> String {
                var changed = members
                changed[index].value = value
                return object(changed)
            }
            var wrong = ["[[1]]", "[]", value.hasPrefix("{") ? "\"x\"" : "{}"]
            switch value.first {
            case "\"": wrong += ["1", "true"]
            case "t", "f": wrong += ["1", "\"true\""]
            case "{": wrong += ["1", "true"]
            default:
                wrong += ["\"1\"", "true", "1.0", "1.5", "1e0", "1e400", "9223372036854775808", "-9223372036854775809"]
            }
            var found = wrong.map { Change(member: name, json: with($0), duty: .refuse, without: without) }
            found.append(
                Change(member: name, json: object(members + [(name, value)]), duty: .refuse, without: without))
            found.append(
                Change(
                    member: name, json: object(members + [("\\u00" + hexadecimal(name), value)]), duty: .refuse,
                    without: without))
            for json in [with("null"), without] {
                found.append(Change(member: name, json: json, duty: .leaveOut, without: without))
            }
            guard value.hasPrefix("{") else { return found }
            return found
                + (try changes(of: value)).map { change in
                    Change(
                        member: "\(name).\(change.member)", json: with(change.json), duty: change.duty,
                        without: with(change.without))
                }
        }
    }

    /// The first character's number, and the other characters.
    private static func hexadecimal(_ name: String) -> String {
        String(name.utf8.first ?? 0, radix: 16) + name.dropFirst()
    }
}
