import ArgumentParser

/// A length of time as people write it: `3d12h`, `90m`, `1w`, `500ms`, `-2h`.
struct Span: ExpressibleByArgument, Equatable {
    var milliseconds: Int64

    private static let units: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000),
    ]

    private static let minus: Character = "\u{2212}"

    /// The arguments of a command with a minus sign for the hyphen of each negative span that `clock` was given: to the
    /// parser of arguments `-1h` is two flags.
    static func shielded(_ arguments: [String]) -> [String] {
        guard arguments.first == "clock" else { return arguments }
        return arguments.map { argument in
            guard argument.hasPrefix("-"), !argument.hasPrefix("--"), Span(argument: argument) != nil else {
                return argument
            }
            return String(minus) + argument.dropFirst()
        }
    }

    init?(argument: String) {
        var rest = argument.lowercased()[...]
        let isNegative = rest.first == "-" || rest.first == Self.minus
        if isNegative { rest = rest.dropFirst() }
        guard !rest.isEmpty else { return nil }
        var sum: Int64 = 0
        while !rest.isEmpty {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            rest = rest.dropFirst(digits.count)
            guard let number = Int64(digits), let unit = Self.units.first(where: { rest.hasPrefix($0.name) }) else {
                return nil
            }
            rest = rest.dropFirst(unit.name.count)
            let (product, tooLarge) = number.multipliedReportingOverflow(by: unit.milliseconds)
            let (total, overflow) = sum.addingReportingOverflow(product)
            guard !tooLarge, !overflow else { return nil }
            sum = total
        }
        milliseconds = isNegative ? -sum : sum
    }

    /// The largest units first, `3d12h`.
    static func text(_ milliseconds: Int64) -> String {
        var rest = milliseconds.magnitude
        var text = ""
        for (name, unit) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] as [(String, UInt64)]
        where rest >= unit {
            text += "\(rest / unit)\(name)"
            rest %= unit
        }
        return (milliseconds < 0 ? "-" : "") + (text.isEmpty ? "0s" : text)
    }
}
