/// A message that has one reader. A server reads it with this reader on every way that a request takes, so that no two
/// of them can judge a request differently.
///
/// The rules are the same for all messages. Members may come in any order, their names may contain escapes, and unknown
/// members are ignored. `null` stands for a member that is left out. A reader refuses a member that appears twice, a
/// value of another type, a whole number with a fraction or an exponent or beyond 64 bits, nesting of more than
/// ``FlatJSONScanner/maximumDepth`` values, any encoding but UTF-8 without a byte order mark, and bytes after the
/// object.
package protocol JSONReadable {
    /// Reads the message from its members.
    init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure)
}

extension JSONReadable {
    /// Reads the message from bytes that must be exactly one JSON object.
    package init(json: [UInt8]) throws(FlatJSONScanner.Failure) { try self.init(try FlatJSONObject(json)) }
}

/// A message that has one writer, which a server uses on every way that a request takes. The members have a fixed
/// order, so equal messages are equal bytes.
package protocol JSONWritable: Sendable {
    /// Writes the message's members.
    func write(to json: inout JSONBytes)
}

extension JSONWritable {
    /// The message as UTF-8: one JSON object without white space.
    package var json: [UInt8] {
        var json = JSONBytes(capacity: 640)
        json.beginObject()
        write(to: &json)
        json.endObject()
        return json.bytes
    }
}

extension JSONBytes {
    /// Writes messages as the elements of an array.
    package mutating func array(_ name: StaticString, _ elements: [some JSONWritable]) {
        beginArray(name)
        for element in elements {
            beginObject()
            element.write(to: &self)
            endObject()
        }
        endArray()
    }

    /// Writes a message as a member.
    package mutating func object(_ name: StaticString, _ message: some JSONWritable) {
        beginObject(name)
        message.write(to: &self)
        endObject()
    }
}
