/// The text form of metrics that Prometheus reads (prometheus.io, "Exposition formats", text format 0.0.4).
public enum PrometheusText {
    /// The value of `Content-Type`.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// A metric's or label's name, with characters that Prometheus does not allow replaced by `_`.
    static func name(_ text: String) -> String {
        var name = String(
            text.unicodeScalars.prefix(128).map { scalar -> Character in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
                default: "_"
                }
            })
        if name.first.map({ $0.isNumber }) ?? true { name = "_" + name }
        return name
    }

    /// A label's value, cut to 128 characters and escaped.
    static func value(_ text: String) -> String {
        var value = ""
        for scalar in text.unicodeScalars.prefix(128) {
            switch scalar {
            case "\\": value += "\\\\"
            case "\"": value += "\\\""
            case "\n": value += "\\n"
            default: value.unicodeScalars.append(scalar)
            }
        }
        return value
    }

    /// The labels as `{a="1",b="2"}`; an empty text without labels.
    static func labels(_ labels: [(String, String)]) -> String {
        labels.isEmpty ? "" : "{" + labels.map { "\(name($0.0))=\"\(value($0.1))\"" }.joined(separator: ",") + "}"
    }

    /// A number; whole numbers have no fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
    }
}
