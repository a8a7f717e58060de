extension Section {
    /// The bare handler compared with itself: the machine's best rate, and the error of the comparison.
    static let bare = Section(name: "bare") { setting in
        let sizes = [(body: 200, answer: 400), (body: 8 << 10, answer: 8 << 10)]
        for size in sizes {
            let first = try BareServer.start(answerBytes: size.answer)
            defer { first.child.stop() }
            let second = try BareServer.start(answerBytes: size.answer)
            defer { second.child.stop() }
            let found = try await setting.load.compared(
                [
                    BareServer.underLoad(
                        first, name: "bare \(size.body) B in, \(size.answer) B out", bodyBytes: size.body),
                    BareServer.underLoad(second, name: "the same again", bodyBytes: size.body),
                ],
                rounds: setting.rounds
            )
            for measurement in found { print(measurement.row) }
            print("  ratio of the two (1 without error): \(Figure.format(found[1].over(found[0])))")
        }
        return []
    }
}

extension BareServer {
    /// A bare handler in a process of its own.
    static func start(
        answerBytes: Int, on processors: Processors? = .forServers
    ) throws -> (child: ChildProcess, port: Int) {
        try ChildProcess.ownServer([subcommand, String(answerBytes)], on: processors)
    }

    static func underLoad(_ server: (child: ChildProcess, port: Int), name: String, bodyBytes: Int) -> ServerUnderLoad {
        let request = LoadGenerator.post(path, body: repeatElement(UInt8(ascii: "x"), count: bodyBytes))
        return ServerUnderLoad(name: name, child: server.child, port: server.port, requests: { _, _ in request })
    }
}
