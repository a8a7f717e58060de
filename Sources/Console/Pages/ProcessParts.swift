import ConsolePages
import ControlWire

/// The processes of a store that has several.
enum ProcessParts {
    /// Stands at what each process has of its own.
    static let ownNote = "Those of this process of the store; each has its own."

    /// All processes, with their states.
    static func section(_ request: PageRequest, _ processes: [ControlAPI.StoreProcess]) -> ConsoleSection {
        var section = ConsoleSection(
            "processes", "Processes",
            text:
                "The processes that share this store, as this one knows them. Payment sheets, apps on a page and the log of requests are those of this process; the rest of the console is the same at each.",
            isLive: true)
        var table = ConsoleTable(
            "Processes, by node",
            [
                ConsoleColumn("Node", isNumber: true), ConsoleColumn("Process"), ConsoleColumn("Control port"),
                ConsoleColumn("Started"), ConsoleColumn("State"),
            ], nothing: "None.")
        for process in processes {
            table.add([
                ConsoleCell("\(process.node)"), ConsoleCell(process.name, note: process.isOwn ? "this one" : nil),
                ConsoleCell(process.address ?? "—"), request.machineMoments.cell(process.startedDate), state(process),
            ])
        }
        section.table = table
        return section
    }

    /// The number of processes, and of those that are not ready.
    static func number(_ request: PageRequest, _ processes: [ControlAPI.StoreProcess]) -> ConsoleNumber {
        let failing = processes.count { $0.state != ControlAPI.StoreProcess.ready }
        return ConsoleNumber(
            "Processes", "\(processes.count)", link: request.link("settings") + "#processes",
            note: failing > 0 ? "\(failing) not ready" : nil, tone: failing > 0 ? .bad : nil)
    }

    private static func state(_ process: ControlAPI.StoreProcess) -> ConsoleCell {
        switch process.state {
        case ControlAPI.StoreProcess.ready: ConsoleCell("Ready", tone: .good)
        case ControlAPI.StoreProcess.silent:
            ConsoleCell(
                "Silent", note: "for \(Moments.span(UInt64(max(0, process.silence)))): killed, or without the database",
                tone: .bad)
        default: ConsoleCell(words[process.state] ?? process.state, note: process.state, tone: .bad)
        }
    }

    /// The reasons of `GET /ready`, and the state before the ports are open.
    private static let words = [
        ControlAPI.StoreProcess.starting: "Is starting", "stopping": "Is stopping",
        "database": "Its database does not answer", "no_standby": "No standby confirms its writes",
        "cannot_hear": "Does not hear the others", "no_node": "Has lost its number",
        "clock_differs": "Its clock is wrong", "standby": "Its database is a standby",
        "catalog_differs": "Has other catalog files",
    ]
}

extension PageRequest {
    /// The processes that share the store; nil for a store of one process.
    /// - Throws: ``APIProblem``.
    func processes() async throws -> [ControlAPI.StoreProcess]? {
        try await api.ask(ControlRoute.settings, as: ControlAPI.Settings.self).processes
    }
}
