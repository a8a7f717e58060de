import ArgumentParser

/// A time span as a command-line argument, such as `1y6mo`, `3d12h`, `90m`, `1w`, `500ms` or `-2h`.
struct Span: ExpressibleByArgument, Equatable {
    /// The months of the calendar, whose length depends on where they begin. They come before the rest.
    var months: Int64
    var milliseconds: Int64

    private static let units: [(name: String, months: Int64, milliseconds: Int64)] = [
        ("ms", 0, 1), ("y", 12, 0), ("mo", 1, 0), ("w", 0, 604_800_000), ("d", 0, 86_400_000), ("h", 0, 3_600_000),
        ("m", 0, 60_000), ("s", 0, 1_000),
    ]

    private static let minus: Character = "\u{2212}"

    /// Replaces the hyphen of each negative span among the arguments of `clock` with a minus sign, because the argument
    /// parser reads `-1h` as two flags.
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
        var (months, sum): (Int64, Int64) = (0, 0)
        while !rest.isEmpty {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            rest = rest.dropFirst(digits.count)
            guard let number = Int64(digits), let unit = Self.units.first(where: { rest.hasPrefix($0.name) }) else {
                return nil
            }
            rest = rest.dropFirst(unit.name.count)
            let (product, tooLarge) = number.multipliedReportingOverflow(by: unit.milliseconds)
            let (total, overflow) = sum.addingReportingOverflow(product)
            guard !tooLarge, !overflow, unit.months == 0 || number <= 1_000_000 else { return nil }
            sum = total
            months += unit.months * number
            guard months <= 100_000_000 else { return nil }
        }
        (self.months, milliseconds) = isNegative ? (-months, -sum) : (months, sum)
    }

    /// Returns the span as text with the largest units first, such as `3d12h`.
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
