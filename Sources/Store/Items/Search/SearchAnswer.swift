import CornerstoreEncoding

/// An answer to a search or lookup.
public struct SearchAnswer: Sendable, Equatable {
    /// Whether the parameters were valid. The answer to invalid ones has status 400.
    public var isValid: Bool
    /// The body, with its line feeds.
    public var body: [UInt8]

    /// The results between three line feeds on each side, an object to a line.
    init(_ objects: [SearchObject], callback: String?) {
        isValid = true
        var json: [UInt8] = []
        json.reserveCapacity(64 + objects.reduce(0) { $0 + $1.bytes.count + 3 })
        json += "{\n \"resultCount\":\(objects.count),\n \"results\": [".utf8
        for (index, object) in objects.enumerated() {
            json += (index == 0 ? "\n" : ", \n").utf8
            json += object.bytes
        }
        json += "]\n}".utf8
        body = Self.framed(json, callback)
    }

    /// The answer to invalid parameters.
    init(_ invalid: SearchRequest.Invalid, callback: String?) {
        isValid = false
        let keys = invalid.keys.joined(separator: ", ")
        body = Self.framed(
            Array(
                """
                {"errorMessage":"Invalid value(s) for key(s): [\(keys)]", "queryParameters":{"output":"json", \
                "callback":"A javascript function to handle your search results", "country":"ISO-2A country code", \
                "limit":"The number of search results to return", "term":"A search string", \
                "lang":"ISO-2A language code"}}
                """.utf8), callback)
    }

    private static func framed(_ json: [UInt8], _ callback: String?) -> [UInt8] {
        let end = Array("\n\n\n".utf8)
        guard let callback else { return end + json + end }
        return end + callback.utf8 + "(".utf8 + json + ");".utf8 + end
    }

    /// The JavaScript function that the answer calls (JSONP); nil for plain JSON. An invalid name is ignored, so that a
    /// link cannot make a browser run its text as a script.
    static func callback(_ parameters: QueryParameters) -> String? {
        guard let name = parameters["callback"], (1...128).contains(name.utf8.count),
            name.utf8.allSatisfy({ byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || [0x24, 0x2E, 0x5F].contains(byte)
            }), name.utf8.first.map({ !(0x30...0x39).contains($0) }) == true
        else { return nil }
        return name
    }
}
