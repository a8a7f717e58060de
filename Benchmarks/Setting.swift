/// The length and load of the measurement, and the machine's raw rates.
struct Setting: Sendable {
    var rounds = 5
    /// Length of one measured round.
    var seconds = 3.0
    /// The seconds of load before a round, which are not counted.
    var warmUp = 1.0
    var clients = 32
    /// The size of the content to build, unpack and download.
    var contentMebibytes = 1024
    /// The number of items in the storefront's index and in the partner feed.
    var items = 1_000_000
    /// The beginning of the names of the sections to run; nil for all.
    var only: String?
    /// The `.storekit` file that the store under test serves.
    var catalog: String?
    var rsa: RSARates = RSARates(verify: .nan, sign: .nan, verifyAllCores: .nan, signAllCores: .nan)

    /// The load of all HTTP figures.
    var load: LoadGenerator { LoadGenerator(clients: clients, warmUp: warmUp, seconds: seconds) }

    /// At most three rounds, for requests that are signed beforehand, which can take longer than answering them.
    var withFewerRounds: Setting {
        var setting = self
        setting.rounds = min(rounds, 3)
        return setting
    }

    static let usage = """
        cornerstore-bench [--quick] [--only SECTION] [--rounds N] [--seconds S] [--clients N] [--content-mib N] [--items N] [FILE.storekit]
        Measures this build against the raw work under it. The last lines are NAME VALUE GOAL ok|short.
        SECTION is one of these, or the beginning of several: \(Section.all.map(\.name).joined(separator: ", ")).
        """

    init(arguments: some Sequence<String>) throws {
        var rest = Array(arguments)
        func value<Value: LosslessStringConvertible>(of flag: String, _ type: Value.Type) throws -> Value {
            guard let text = rest.first, let value = Value(text) else {
                throw BenchmarkError("\(flag) needs a value\n\(Self.usage)")
            }
            rest.removeFirst()
            return value
        }
        while let argument = rest.first {
            rest.removeFirst()
            switch argument {
            case "--quick": (rounds, seconds, warmUp, contentMebibytes, items) = (2, 0.5, 0.2, 64, 20_000)
            case "--only": only = try value(of: argument, String.self)
            case "--rounds": rounds = max(1, try value(of: argument, Int.self))
            case "--seconds": seconds = max(0.1, try value(of: argument, Double.self))
            case "--content-mib": contentMebibytes = max(1, try value(of: argument, Int.self))
            case "--items": items = max(25, try value(of: argument, Int.self))
            case "--clients": clients = max(1, try value(of: argument, Int.self))
            case _ where !argument.hasPrefix("-") && catalog == nil: catalog = argument
            default: throw BenchmarkError("unknown argument \(argument)\n\(Self.usage)")
            }
        }
    }
}

/// Raw RSA-2048 operations a second.
struct RSARates: Sendable {
    var verify: Double
    var sign: Double
    var verifyAllCores: Double
    var signAllCores: Double
}

/// One part of the benchmark. It prints its table and returns its figures.
struct Section: Sendable {
    var name: String
    var run: @Sendable (Setting) async throws -> [Figure]

    /// In the order they run. Every figure in ``Figure`` belongs to one of them.
    static let all: [Section] = [
        .bare, .receipts, .verifyReceipt, .purchases, .million, .processes, .console, .consolePostgreSQL, .renewals,
        .subscribers,
        .serverAPI,
        .storefront,
        .startUp,
        .app, .restore, .queueStart, .packages, .content, .feed, .merchantBalance, .merchantSpend, .merchantReceipt,
        .merchantSigned, .merchantContent, .merchantPostgreSQL, .merchantMillion,
    ]
}
